package conversations

// FileSearch is a search in files that the service made for the model.
type FileSearch struct {
	ID       string
	Status   Status
	CallID   string    // names the call to the model; not part of the interface
	Queries  []string  // 1 to 5
	Passages []Passage // that were found; part of the interface where Shown
	Failure  string    // what the model reads in place of passages, often empty; not part of the interface
	Shown    bool      // the caller asked for the passages
	Thought  Thought
}

// ItemID implements [Item].
func (s *FileSearch) ItemID() string { return s.ID }

// Passage is a piece of a file that a search has found.
type Passage struct {
	Number     int            `json:"n"` // by which the model names it
	File       string         `json:"file"`
	Filename   string         `json:"name"`
	Score      float64        `json:"score"`
	Text       string         `json:"text"`
	Attributes map[string]any `json:"attributes,omitempty"`
	Page       int            `json:"page,omitempty"`
	Headings   []string       `json:"headings,omitempty"`
}

// Citation says that a place in a text is from a file.
type Citation struct {
	File     string `json:"file"`
	Filename string `json:"name"`
	Index    int    `json:"at"` // characters of the text before the place
}

func (s *FileSearch) record(r *record) {
	r.Kind, r.Status, r.CallID, r.Queries, r.Passages = kindFiles, s.Status, s.CallID, s.Queries, s.Passages
	r.Text, r.Listed, r.Thought = s.Failure, s.Shown, thoughtRecord(s.Thought)
}

func (r *record) fileSearch() *FileSearch {
	return &FileSearch{
		ID: r.ID, Status: r.Status, CallID: r.CallID, Queries: r.Queries, Passages: r.Passages, Failure: r.Text, Shown: r.Listed, Thought: Thought(r.Thought),
	}
}
