package word

import (
	"strconv"
	"strings"
)

// Number returns n in one of Word's formats of numbers, by its name in .docx files
// (ECMA-376, 17.18.59), as Word prints it. Numbers that a format does not have, and
// those of formats not known here, are decimal.
func Number(n int, format string) string {
	switch format {
	case "none", "bullet":
		return ""
	case "decimalZero":
		return Padded(n, 2)
	case "numberInDash":
		return "- " + strconv.Itoa(n) + " -"
	case "lowerLetter":
		return strings.ToLower(Letters(n))
	case "upperLetter":
		return Letters(n)
	case "lowerRoman":
		return strings.ToLower(Roman(n))
	case "upperRoman":
		return Roman(n)
	case "ordinal":
		return strconv.Itoa(n) + ordinalSuffix(n)
	}
	if letters, ok := sequences[format]; ok {
		return oneOf(n, letters)
	}
	if digits, ok := digitSets[format]; ok {
		return digital(n, []rune(digits))
	}
	if c, ok := countings[format]; ok {
		return c.count(n)
	}
	return strconv.Itoa(n)
}

// Padded returns n with zeros in front, up to so many digits.
func Padded(n, digits int) string {
	s := strconv.Itoa(n)
	if n < 0 || len(s) >= digits {
		return s
	}
	return strings.Repeat("0", digits-len(s)) + s
}

func ordinalSuffix(n int) string {
	if n%100 >= 11 && n%100 <= 13 {
		return "th"
	}
	switch n % 10 {
	case 1:
		return "st"
	case 2:
		return "nd"
	case 3:
		return "rd"
	}
	return "th"
}

// sequences are formats that have a character for each number, from 1.
var sequences = map[string]string{
	"ideographTraditional":         "甲乙丙丁戊己庚辛壬癸",
	"ideographZodiac":              "子丑寅卯辰巳午未申酉戌亥",
	"ideographEnclosedCircle":      "㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉",
	"decimalEnclosedCircle":        "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳",
	"decimalEnclosedCircleChinese": "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳",
	"decimalEnclosedParen":         "⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇",
	"decimalEnclosedFullstop":      "⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛",
	"aiueo":                        "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ",
	"aiueoFullWidth":               "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン",
	"iroha":                        "ｲﾛﾊﾆﾎﾍﾄﾁﾘﾇﾙｦﾜｶﾖﾀﾚｿﾂﾈﾅﾗﾑｳヰﾉｵｸﾔﾏｹﾌｺｴﾃｱｻｷﾕﾒﾐｼヱﾋﾓｾｽ",
	"irohaFullWidth":               "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス",
	"ganada":                       "가나다라마바사아자차카타파하",
	"chosung":                      "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
	"arabicAlpha":                  "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
	"arabicAbjad":                  "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
	"russianLower":                 "абвгдежзиклмнопрстуфхцчшщыэюя",
	"russianUpper":                 "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ",
}

func oneOf(n int, letters string) string {
	all := []rune(letters)
	if n < 1 || n > len(all) {
		return strconv.Itoa(n)
	}
	return string(all[n-1])
}

// digitSets are formats that write decimal digits in a script of their own.
var digitSets = map[string]string{
	"ideographDigital":           "〇一二三四五六七八九",
	"japaneseDigitalTenThousand": "〇一二三四五六七八九",
	"taiwaneseDigital":           "○一二三四五六七八九",
	"koreanDigital":              "영일이삼사오육칠팔구",
	"koreanDigital2":             "零一二三四五六七八九",
	"decimalFullWidth":           "０１２３４５６７８９",
	"decimalFullWidth2":          "０１２３４５６７８９",
	"hindiNumbers":               "०१२३४५६७८९",
	"thaiNumbers":                "๐๑๒๓๔๕๖๗๘๙",
}

func digital(n int, digits []rune) string {
	if n < 0 {
		return strconv.Itoa(n)
	}
	return strings.Map(func(r rune) rune { return digits[r-'0'] }, strconv.Itoa(n))
}

// counting is a format that writes numbers as they are spoken: digits with tens,
// hundreds and thousands.
type counting struct {
	digits string // from 0
	units  string // ten, hundred, thousand
	most   int    // beyond it the digits alone are written
	zero   bool   // a gap within is spoken
	one    bool   // so is the one of a hundred and a thousand
	oneTen bool   // and that of a ten
}

var countings = map[string]counting{
	"japaneseCounting":          {digits: "〇一二三四五六七八九", units: "十百千", most: 9999},
	"japaneseLegal":             {digits: "〇壱弐参四伍六七八九", units: "拾百阡", most: 9999, one: true, oneTen: true},
	"chineseCounting":           {digits: "○一二三四五六七八九", units: "十百千", most: 99},
	"taiwaneseCounting":         {digits: "○一二三四五六七八九", units: "十百千", most: 99},
	"chineseCountingThousand":   {digits: "○一二三四五六七八九", units: "十百千", most: 9999, zero: true, one: true},
	"taiwaneseCountingThousand": {digits: "○一二三四五六七八九", units: "十百千", most: 9999, zero: true, one: true},
	"chineseLegalSimplified":    {digits: "零壹贰叁肆伍陆柒捌玖", units: "拾佰仟", most: 9999, zero: true, one: true, oneTen: true},
	"ideographLegalTraditional": {digits: "零壹貳參肆伍陸柒捌玖", units: "拾佰仟", most: 9999, zero: true, one: true, oneTen: true},
	"koreanCounting":            {digits: "영일이삼사오육칠팔구", units: "십백천", most: 9999},
}

func (c counting) count(n int) string {
	digits, units := []rune(c.digits), []rune(c.units)
	if n < 1 || n > c.most {
		return digital(n, digits)
	}
	s := strconv.Itoa(n)
	var b strings.Builder
	gap := false
	for i, r := range s {
		place := len(s) - 1 - i
		digit := int(r - '0')
		if digit == 0 {
			gap = true
			continue
		}
		if gap && c.zero {
			b.WriteRune(digits[0])
		}
		gap = false
		silent := digit == 1 && (place == 1 && (!c.oneTen && (i == 0 || !c.one)) || place > 1 && !c.one)
		if !silent {
			b.WriteRune(digits[digit])
		}
		if place > 0 {
			b.WriteRune(units[place-1])
		}
	}
	return b.String()
}
