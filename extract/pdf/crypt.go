package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"

	"github.com/seed-506d8e5d/svc/extract"
)

// Encryption (ISO 32000-2, 7.6) by the standard security handler with the empty
// password, which opens files that only restrict printing or copying.

// method is how strings or streams are encrypted: a crypt filter's CFM.
type method string

const (
	methodNone   method = "None"
	methodRC4    method = "V2"
	methodAES    method = "AESV2"
	methodAES256 method = "AESV3"
)

// decrypter holds the file key. A nil decrypter decrypts nothing.
type decrypter struct {
	key           []byte
	streams       method
	strings       method
	plainMetadata bool
}

// passwordPadding completes passwords to 32 bytes; it stands for the empty one.
const passwordPadding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

// newDecrypter reads an encryption dictionary without references in it. It
// fails with extract.ErrPassword when the empty password does not open the file.
func newDecrypter(e object, id string) (*decrypter, error) {
	if !e.get("Filter").isName("Standard") {
		return nil, extract.ErrPassword
	}
	d := &decrypter{streams: methodRC4, strings: methodRC4}
	d.plainMetadata = e.get("EncryptMetadata").str == "false"
	version := e.get("V").int()
	bits := e.get("Length").int()
	switch version {
	case 1:
		bits = 40
	case 2, 3:
		bits = between(bits, 40, 128, 40)
	case 4, 5:
		d.streams, d.strings = cryptFilter(e, "StmF"), cryptFilter(e, "StrF")
		bits = 128
		if d.streams == methodRC4 {
			bits = rc4Bits(e)
		}
	default:
		return nil, extract.ErrPassword
	}
	if d.streams == methodNone && d.strings == methodNone {
		return d, nil // only attachments are encrypted
	}
	if version == 5 {
		d.key = fileKeyAES256(e)
	} else {
		d.key = fileKeyMD5(e, id, bits/8, d.plainMetadata)
	}
	if d.key == nil {
		return nil, extract.ErrPassword
	}
	return d, nil
}

// cryptFilter returns the method of the crypt filter that a key names.
func cryptFilter(e object, key string) method {
	filter := e.get("CF").get(e.get(key).str)
	switch m := method(filter.get("CFM").str); m {
	case methodRC4, methodAES, methodAES256:
		return m
	}
	return methodNone
}

// rc4Bits reads the key length of an RC4 crypt filter, given in bytes or bits.
func rc4Bits(e object) int {
	n := e.get("CF").get(e.get("StmF").str).get("Length").int()
	if n >= 5 && n <= 16 {
		n *= 8
	}
	return between(n, 40, 128, 128)
}

// fileKeyMD5 is algorithm 2 with the check of algorithm 6, for revisions 2
// to 4. It returns nil when the password is wrong.
func fileKeyMD5(e object, id string, length int, plainMetadata bool) []byte {
	if len(e.get("O").str) < 32 || len(e.get("U").str) < 16 {
		return nil
	}
	if e.get("R").int() == 2 {
		length = 5
	}
	if key := fileKeyFor(passwordPadding, e, id, length, plainMetadata); key != nil {
		return key
	}
	return fileKeyFor(userPassword(e, length), e, id, length, plainMetadata)
}

// userPassword is algorithm 7: the user password that the empty owner password
// gives away.
func userPassword(e object, length int) string {
	revision := e.get("R").int()
	sum := md5.Sum([]byte(passwordPadding))
	if revision >= 3 {
		for range 50 {
			sum = md5.Sum(sum[:])
		}
	}
	password := []byte(e.get("O").str[:32])
	if revision == 2 {
		return string(xorRC4(sum[:length], password))
	}
	for i := 19; i >= 0; i-- {
		password = xorRC4(xorBytes(sum[:length], byte(i)), password)
	}
	return string(password)
}

// xorBytes is data with each byte combined with b.
func xorBytes(data []byte, b byte) []byte {
	out := bytes.Clone(data)
	for i := range out {
		out[i] ^= b
	}
	return out
}

// fileKeyFor tries one user password, completed to 32 bytes.
func fileKeyFor(password string, e object, id string, length int, plainMetadata bool) []byte {
	owner, user, revision := e.get("O").str, e.get("U").str, e.get("R").int()
	seed := []byte(password + owner[:32])
	seed = binary.LittleEndian.AppendUint32(seed, uint32(int64(e.get("P").int())))
	seed = append(seed, id...)
	if revision >= 4 && plainMetadata {
		seed = append(seed, 0xff, 0xff, 0xff, 0xff)
	}
	sum := md5.Sum(seed)
	if revision >= 3 {
		for range 50 {
			sum = md5.Sum(sum[:length])
		}
	}
	key := sum[:length]
	if revision == 2 {
		if string(xorRC4(key, []byte(passwordPadding))[:16]) != user[:16] {
			return nil
		}
		return key
	}
	check := md5.Sum([]byte(passwordPadding + id))
	x := check[:]
	for i := range 20 {
		x = xorRC4(xorBytes(key, byte(i)), x)
	}
	if string(x) != user[:16] {
		return nil
	}
	return key
}

func xorRC4(key, data []byte) []byte {
	c, err := rc4.NewCipher(key)
	if err != nil { // an empty key: nothing was encrypted with it
		return data
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// fileKeyAES256 is algorithm 2.A, for revisions 5 and 6. It returns nil when the
// empty password is neither the user's nor the owner's.
func fileKeyAES256(e object) []byte {
	user, owner, revision := []byte(e.get("U").str), []byte(e.get("O").str), e.get("R").int()
	if len(user) < 48 {
		return nil
	}
	if bytes.Equal(hashAES256(user[32:40], nil, revision), user[:32]) {
		return unwrap(hashAES256(user[40:48], nil, revision), e.get("UE").str)
	}
	if len(owner) >= 48 && bytes.Equal(hashAES256(owner[32:40], user[:48], revision), owner[:32]) {
		return unwrap(hashAES256(owner[40:48], user[:48], revision), e.get("OE").str)
	}
	return nil
}

// unwrap decrypts the file key.
func unwrap(key []byte, wrapped string) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(wrapped) < 32 {
		return nil
	}
	out := []byte(wrapped[:32])
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(out, out)
	return out
}

// hashAES256 is algorithm 2.B for the empty password, with the U entry if it is
// the owner's; revision 5 stops after its first step.
func hashAES256(salt, user []byte, revision int) []byte {
	sum := sha256.Sum256(append(bytes.Clone(salt), user...))
	k := sum[:]
	if revision < 6 {
		return k
	}
	for round := 0; ; round++ {
		data := bytes.Repeat(append(bytes.Clone(k), user...), 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(data, data)
		mod := 0
		for _, b := range data[:16] {
			mod += int(b)
		}
		switch mod % 3 {
		case 0:
			s := sha256.Sum256(data)
			k = s[:]
		case 1:
			s := sha512.Sum384(data)
			k = s[:]
		default:
			s := sha512.Sum512(data)
			k = s[:]
		}
		if round >= 63 && int(data[len(data)-1]) <= round-31 {
			return k[:32]
		}
	}
}

// decrypt returns the plain bytes of a string or stream of the object with the
// given number and generation (algorithms 1 and 1.A).
func (d *decrypter) decrypt(data []byte, id, generation int, m method) []byte {
	switch m {
	case methodAES256:
		return decryptCBC(d.key, data)
	case methodRC4, methodAES:
		seed := append(bytes.Clone(d.key), byte(id), byte(id>>8), byte(id>>16), byte(generation), byte(generation>>8))
		if m == methodAES {
			seed = append(seed, "sAlT"...)
		}
		sum := md5.Sum(seed)
		key := sum[:min(len(d.key)+5, 16)]
		if m == methodAES {
			return decryptCBC(key, data)
		}
		return xorRC4(key, data)
	}
	return data
}

// decryptCBC decrypts AES data that begins with its initialization vector and
// ends in padding.
func decryptCBC(key, data []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(data) < 32 {
		return nil
	}
	n := len(data) / 16 * 16
	out := make([]byte, n-16)
	cipher.NewCBCDecrypter(block, data[:16]).CryptBlocks(out, data[16:n])
	if pad := int(out[len(out)-1]); pad >= 1 && pad <= 16 {
		out = out[:len(out)-pad]
	}
	return out
}
