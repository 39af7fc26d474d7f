package pdf

// Objects (ISO 32000-2, 7.3). One struct serves every type; the zero object is
// null, so a missing key, a dangling reference and an explicit null look alike.

// kind is the type of an object, or of a token that is none.
type kind uint8

const (
	null    kind = iota
	number       // integer or real, in num
	text         // string, its decoded bytes in str
	name         // name without the slash, in str
	keyword      // operator, or true and false, in str
	array        // elements in items
	dict         // key, value, key, value ... in items
	ref          // reference, the object number in num
	stray        // a closing delimiter without its opening one
	end          // end of the input
)

// object is a PDF object. Its items are shared between copies.
type object struct {
	kind  kind
	num   float64
	str   string
	items []object
}

// get returns the value of a dictionary's key, or null.
func (o object) get(key string) object {
	if o.kind != dict {
		return object{}
	}
	for i := 0; i+1 < len(o.items); i += 2 {
		if o.items[i].kind == name && o.items[i].str == key {
			return o.items[i+1]
		}
	}
	return object{}
}

// with returns the dictionary with the key set, leaving o's items untouched.
// Any other object counts as an empty dictionary.
func (o object) with(key string, value object) object {
	out := object{kind: dict}
	if o.kind == dict {
		for i := 0; i+1 < len(o.items); i += 2 {
			if o.items[i].str != key {
				out.items = append(out.items, o.items[i], o.items[i+1])
			}
		}
	}
	out.items = append(out.items, nameOf(key), value)
	return out
}

// int returns a number, or the object number of a reference, as an int. It is 0
// for anything else and beyond 2^53.
func (o object) int() int {
	if o.kind != number && o.kind != ref || o.num > 1<<53 || o.num < -(1<<53) {
		return 0
	}
	return int(o.num)
}

// isName reports whether o is the given name.
func (o object) isName(s string) bool { return o.kind == name && o.str == s }

func nameOf(s string) object { return object{kind: name, str: s} }
func numberOf(n int) object  { return object{kind: number, num: float64(n)} }
func refTo(id int) object    { return object{kind: ref, num: float64(id)} }
func arrayOf(items ...object) object {
	return object{kind: array, items: items}
}
