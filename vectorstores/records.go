package vectorstores

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Status is that of a store, a file in it or a batch of files.
type Status string

// The statuses.
const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"    // a file
	Cancelled  Status = "cancelled" // a file, a batch
	Expired    Status = "expired"   // a store
)

// Counts are files by their status.
type Counts struct {
	InProgress int `json:"in_progress,omitempty"`
	Completed  int `json:"completed,omitempty"`
	Failed     int `json:"failed,omitempty"`
	Cancelled  int `json:"cancelled,omitempty"`
}

// Total is how many files there are.
func (c Counts) Total() int { return c.InProgress + c.Completed + c.Failed + c.Cancelled }

func (c *Counts) add(s Status, n int) {
	switch s {
	case InProgress:
		c.InProgress += n
	case Completed:
		c.Completed += n
	case Failed:
		c.Failed += n
	case Cancelled:
		c.Cancelled += n
	}
}

// Store is a set of files that is searched. Times are Unix seconds.
type Store struct {
	ID           string // vs_…
	Name         string
	Description  string
	CreatedAt    int64
	LastActiveAt int64
	ExpiryDays   int   // after it was last active; 0: never
	ExpiresAt    int64 // 0: never
	Status       Status
	Bytes        int64 // that its chunks take
	Files        Counts
	Metadata     map[string]string
}

// storeRecord is what is stored of a [Store], whose ID is in the key.
type storeRecord struct {
	Name        string            `json:"name,omitempty"`
	Description string            `json:"description,omitempty"`
	Created     int64             `json:"created"`
	Active      int64             `json:"active"`
	ExpiryDays  int               `json:"expiry_days,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Bytes       int64             `json:"bytes,omitempty"`
	Files       Counts            `json:"files"`
	Chunks      int               `json:"chunks,omitempty"`
	Expired     bool              `json:"expired,omitempty"` // its files have been removed from it
	Model       string            `json:"model,omitempty"`   // of its vectors; empty: it has none
	Dimensions  int               `json:"dimensions,omitempty"`

	// Next is the number of the next file that becomes visible. Changed grows when one
	// leaves or its attributes change. Together they say whether a cache is current.
	Next    uint64 `json:"next,omitempty"`
	Changed uint64 `json:"changed,omitempty"`
}

func (r *storeRecord) expiresAt() int64 {
	if r.ExpiryDays == 0 {
		return 0
	}
	return r.Active + int64(r.ExpiryDays)*int64(24*time.Hour/time.Second)
}

func (r *storeRecord) expired(now int64) bool {
	return r.Expired || r.ExpiryDays != 0 && now >= r.expiresAt()
}

func (r *storeRecord) store(id string, now int64) Store {
	s := Store{
		ID: id, Name: r.Name, Description: r.Description, CreatedAt: r.Created, LastActiveAt: r.Active, ExpiryDays: r.ExpiryDays, ExpiresAt: r.expiresAt(),
		Status: Completed, Bytes: r.Bytes, Files: r.Files, Metadata: r.Metadata,
	}
	switch {
	case r.expired(now):
		s.Status = Expired
	case r.Files.InProgress > 0:
		s.Status = InProgress
	}
	return s
}

// File is a file in a store.
type File struct {
	ID         string // file_…
	Store      string
	CreatedAt  int64 // when it was attached, in Unix seconds
	Bytes      int64 // that its chunks take
	Status     Status
	Error      *Problem // why it has failed
	Attributes Attributes
	Chunking   Chunking
}

// Problem is why a file has failed.
type Problem struct {
	Code    string `json:"code"` // server_error, unsupported_file, invalid_file
	Message string `json:"message"`
}

// The codes of a [Problem].
const (
	ServerError     = "server_error"
	UnsupportedFile = "unsupported_file"
	InvalidFile     = "invalid_file"
)

// Chunking is how long the chunks of a file may be. The zero value is the default.
type Chunking struct {
	MaxTokens int `json:"max,omitempty"`
	Overlap   int `json:"overlap,omitempty"`
}

// The bounds of a [Chunking] and its default.
const (
	MinChunk       = 100
	MaxChunk       = 4096
	defaultChunk   = 800
	defaultOverlap = 400
)

// Tokens returns the most tokens of a chunk and those that it shares with the one
// before.
func (c Chunking) Tokens() (most, overlap int) {
	if c.MaxTokens == 0 {
		return defaultChunk, defaultOverlap
	}
	return c.MaxTokens, c.Overlap
}

func (c Chunking) check() error {
	if c == (Chunking{}) {
		return nil
	}
	if c.MaxTokens < MinChunk || c.MaxTokens > MaxChunk {
		return fault.Invalidf("chunking_strategy.static.max_chunk_size_tokens", "max_chunk_size_tokens must be between %d and %d.", MinChunk, MaxChunk)
	}
	if c.Overlap < 0 || 2*c.Overlap > c.MaxTokens {
		return fault.Invalidf("chunking_strategy.static.chunk_overlap_tokens", "chunk_overlap_tokens must be between 0 and half of max_chunk_size_tokens.")
	}
	return nil
}

// fileRecord is what is stored of a [File].
type fileRecord struct {
	Created    int64      `json:"created"`
	Status     Status     `json:"status"`
	Error      *Problem   `json:"error,omitempty"`
	Attributes Attributes `json:"attributes,omitempty"`
	Chunking   Chunking   `json:"chunking,omitzero"`
	Batch      string     `json:"batch,omitempty"` // that it was attached with
	Key        string     `json:"key,omitempty"`   // key_… ID of who attached it

	// Of a completed file.
	Seq    uint64 `json:"seq,omitempty"`  // of its entry
	Data   string `json:"data,omitempty"` // that its chunks are stored under
	Chunks int    `json:"chunks,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

func (r *fileRecord) file(store, id string) File {
	return File{
		ID: id, Store: store, CreatedAt: r.Created, Bytes: r.Bytes, Status: r.Status, Error: r.Error, Attributes: r.Attributes, Chunking: r.Chunking,
	}
}

// entryRecord is a completed file as a search sees it.
type entryRecord struct {
	File       string     `json:"file"`
	Name       string     `json:"name"`
	Data       string     `json:"data"`
	Chunks     int        `json:"chunks"`
	Vectors    bool       `json:"vectors,omitempty"`
	Attributes Attributes `json:"attributes,omitempty"`
}

// blockRecord is consecutive chunks.
type blockRecord struct {
	Chunks []chunkRecord `json:"chunks"`
}

// chunkRecord is a chunk.
type chunkRecord struct {
	Text     string   `json:"text"`
	Page     int      `json:"page,omitempty"`
	Headings []string `json:"headings,omitempty"`
}

// perBlock is how many chunks a block has; the last of a file may have fewer.
const perBlock = 4

// batchRecord is what is stored of a [Batch].
type batchRecord struct {
	Created   int64  `json:"created"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Files     Counts `json:"files"`
}

// The keys in an organization's namespace:
//
//	s/m/{store}              a storeRecord
//	s/f/{store}/{file}       a fileRecord
//	s/o/{file}/{store}       a store that has a file
//	s/b/{store}/{batch}      a batchRecord
//	s/l/{store}/{batch}/{file}  a file of a batch
//	s/e/{store}/{seq}        an entryRecord; seq in 8 bytes
//	s/c/{store}/{data}/{n}   a blockRecord; n in 4 bytes
//	s/p/{store}/{data}/{n}   a segment of the index: the words of consecutive chunks; n in 4 bytes
//	s/u/{store}/{data}/{n}   vectors of consecutive chunks; n in 4 bytes
//	s/q/{kind}/{store}/{…}   work: the process that does it; see [work]
//	s/x/{time}{store}        when a store may have expired: Unix seconds in 8 bytes
const (
	storePrefix  = "s/m/"
	workPrefix   = "s/q/"
	expiryPrefix = "s/x/"
)

func storeRecordKey(store string) []byte   { return []byte(storePrefix + store) }
func filesOf(store string) []byte          { return []byte("s/f/" + store + "/") }
func fileKey(store, file string) []byte    { return []byte("s/f/" + store + "/" + file) }
func storesOf(file string) []byte          { return []byte("s/o/" + file + "/") }
func memberKey(file, store string) []byte  { return []byte("s/o/" + file + "/" + store) }
func batchesOf(store string) []byte        { return []byte("s/b/" + store + "/") }
func batchKey(store, batch string) []byte  { return []byte("s/b/" + store + "/" + batch) }
func listsOf(store string) []byte          { return []byte("s/l/" + store + "/") }
func listOf(store, batch string) []byte    { return []byte("s/l/" + store + "/" + batch + "/") }
func entriesOf(store string) []byte        { return []byte("s/e/" + store + "/") }
func blocksOf(store, data string) []byte   { return []byte("s/c/" + store + "/" + data + "/") }
func vectorsOf(store, data string) []byte  { return []byte("s/u/" + store + "/" + data + "/") }
func segmentsOf(store, data string) []byte { return []byte("s/p/" + store + "/" + data + "/") }

func entryKey(store string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(entriesOf(store), seq)
}

func blockKey(store, data string, n int) []byte {
	return binary.BigEndian.AppendUint32(blocksOf(store, data), uint32(n))
}

func vectorsKey(store, data string, n int) []byte {
	return binary.BigEndian.AppendUint32(vectorsOf(store, data), uint32(n))
}

func segmentKey(store, data string, n int) []byte {
	return binary.BigEndian.AppendUint32(segmentsOf(store, data), uint32(n))
}

func expiryKey(at int64, store string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte(expiryPrefix), uint64(at)), store...)
}

// The codes of the errors about what does not exist, and about a store that has
// expired.
const (
	CodeStoreNotFound = "vector_store_not_found"
	CodeFileNotFound  = "vector_store_file_not_found"
	CodeBatchNotFound = "vector_store_file_batch_not_found"
	CodeExpired       = "vector_store_expired"
	CodeFull          = "vector_store_full"
)

// getStore reads the record of a store. The error is NotFound.
func getStore(tx storage.Tx, id string) (*storeRecord, error) {
	r := &storeRecord{}
	return r, get(tx, storeRecordKey(id), r, CodeStoreNotFound, "vector store", id)
}

// live is getStore for a store that has not expired; the error is Invalid otherwise.
func (s *Service) live(tx storage.Tx, id string) (*storeRecord, error) {
	r, err := getStore(tx, id)
	if err == nil && r.expired(s.o.Now().Unix()) {
		return nil, &fault.Error{Kind: fault.Invalid, Code: CodeExpired, Message: "The vector store \"" + id + "\" has expired."}
	}
	return r, err
}

func (r *storeRecord) set(tx storage.Tx, id string) error {
	return storage.SetJSON(tx, storeRecordKey(id), r)
}

// getFile reads the record of a file in a store. The error is NotFound.
func getFile(tx storage.Tx, store, file string) (*fileRecord, error) {
	r := &fileRecord{}
	return r, get(tx, fileKey(store, file), r, CodeFileNotFound, "file in the vector store", file)
}

func (r *fileRecord) set(tx storage.Tx, store, file string) error {
	return storage.SetJSON(tx, fileKey(store, file), r)
}

func getBatch(tx storage.Tx, store, batch string) (*batchRecord, error) {
	r := &batchRecord{}
	return r, get(tx, batchKey(store, batch), r, CodeBatchNotFound, "file batch", batch)
}

func (r *batchRecord) set(tx storage.Tx, store, batch string) error {
	return storage.SetJSON(tx, batchKey(store, batch), r)
}

func get(tx storage.Tx, key []byte, v any, code, what, id string) error {
	err := storage.GetJSON(tx, key, v)
	if errors.Is(err, storage.ErrNotFound) {
		return fault.Missing(code, what, id)
	}
	return err
}

// decode reads a value that is JSON.
func decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// move changes the status of a file, and with it the counts of its store and its
// batch. The records of the store and the file are the caller's to write.
func move(tx storage.Tx, store string, r *storeRecord, f *fileRecord, to Status) error {
	from := f.Status
	f.Status = to
	r.Files.add(from, -1)
	r.Files.add(to, 1)
	return moveInBatch(tx, store, f.Batch, from, to)
}

func moveInBatch(tx storage.Tx, store, batch string, from, to Status) error {
	if batch == "" || from == to {
		return nil
	}
	b, err := getBatch(tx, store, batch)
	if err != nil {
		return err
	}
	b.Files.add(from, -1)
	b.Files.add(to, 1)
	return b.set(tx, store, batch)
}
