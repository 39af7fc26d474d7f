package wire

// Conversation is a stored conversation.
type Conversation struct {
	ID        string `json:"id"`
	Object    string `json:"object" api:"const=conversation"`
	CreatedAt int64  `json:"created_at" doc:"Unix seconds."`
	Metadata  Tags   `json:"metadata"`
}

// File is an uploaded file.
type File struct {
	ID            string `json:"id"`
	Object        string `json:"object" api:"const=file"`
	Bytes         int64  `json:"bytes"`
	CreatedAt     int64  `json:"created_at" doc:"When it was uploaded, Unix seconds."`
	ExpiresAt     *int64 `json:"expires_at" doc:"When it is deleted, Unix seconds."`
	Filename      string `json:"filename"`
	Purpose       string `json:"purpose" api:"enum=assistants|batch|batch_output|fine-tune|vision|user_data|evals"`
	Status        string `json:"status" api:"enum=uploaded|processed|error"`
	StatusDetails string `json:"status_details,omitempty" doc:"What there is to say about the status, where there is: why the file has no text, or that some of its text is missing. Models are told the same."`
}

// Model is a model as the OpenAI API lists it.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object" api:"const=model"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// NamedModel is a model as clients of Decisions list it.
type NamedModel struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ReleaseDate string `json:"release_date" api:"format=date"`
}

// ModelList has one list for each kind of client.
type ModelList struct {
	Object string       `json:"object" api:"const=list"`
	Data   []Model      `json:"data"`
	Models []NamedModel `json:"models" doc:"The same models, for clients of Decisions."`
}
