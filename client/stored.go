package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const conversationsPath = "/v1/conversations"

func (c *Client) conversation(ctx context.Context, method, path string, body any) (conversations.Conversation, error) {
	var w wire.Conversation
	err := c.Do(ctx, method, path, body, &w)
	return convert.FromConversation(&w), err
}

// CreateConversation stores a new conversation with tags and items, both optional.
func (c *Client) CreateConversation(ctx context.Context, _ Caller, metadata map[string]string, items []conversations.Item) (conversations.Conversation, error) {
	body := &wire.ConversationRequest{Metadata: metadata, Items: convert.ToInputItems(items)}
	return c.conversation(ctx, "POST", conversationsPath, body)
}

// Conversation returns a conversation. The error is NotFound.
func (c *Client) Conversation(ctx context.Context, _ Caller, id string) (conversations.Conversation, error) {
	return c.conversation(ctx, "GET", under(conversationsPath, id), nil)
}

// UpdateConversation replaces all metadata of a conversation.
func (c *Client) UpdateConversation(ctx context.Context, _ Caller, id string, metadata map[string]string) (conversations.Conversation, error) {
	return c.conversation(ctx, "POST", under(conversationsPath, id), metadataBody(metadata))
}

// DeleteConversation removes a conversation, its items and its responses.
func (c *Client) DeleteConversation(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(conversationsPath, id), nil, nil)
}

// AddConversationItems adds items to a conversation and returns them as stored.
func (c *Client) AddConversationItems(ctx context.Context, _ Caller, id string, added []conversations.Item) ([]conversations.Item, error) {
	var body wire.List[wire.Item]
	err := c.Do(ctx, "POST", under(conversationsPath, id, "items"), &wire.ItemsRequest{Items: convert.ToInputItems(added)}, &body)
	return convert.FromItems(body.Data), err
}

// ConversationItems returns a page of a conversation's items.
func (c *Client) ConversationItems(ctx context.Context, _ Caller, id string, p Page) (List[conversations.Item], error) {
	return list(ctx, c, under(conversationsPath, id, "items"), p, func(w wire.Item) conversations.Item { return convert.FromItem(&w) })
}

// ConversationItem returns one item of a conversation. The error is NotFound.
func (c *Client) ConversationItem(ctx context.Context, _ Caller, id, item string) (conversations.Item, error) {
	var w wire.Item
	err := c.Do(ctx, "GET", under(under(conversationsPath, id, "items"), item), nil, &w)
	return convert.FromItem(&w), err
}

// DeleteConversationItem removes an item and returns the conversation.
func (c *Client) DeleteConversationItem(ctx context.Context, _ Caller, id, item string) (conversations.Conversation, error) {
	return c.conversation(ctx, "DELETE", under(under(conversationsPath, id, "items"), item), nil)
}

const filesPath = "/v1/files"

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", " ", "\n", " ")

// UploadFile stores a file. Its content is held in memory, so that it can be sent
// again, where it is no file of the system or another [io.ReaderAt] that seeks.
func (c *Client) UploadFile(ctx context.Context, _ Caller, u files.Upload) (files.File, error) {
	body, err := uploadContent(u)
	if err != nil {
		return files.File{}, err
	}
	resp, err := c.send(ctx, "POST", filesPath, body, "")
	if err != nil {
		return files.File{}, err
	}
	defer resp.Body.Close()
	var w wire.File
	if err := decode(resp.Body, &w); err != nil {
		return files.File{}, failed(ctx, err)
	}
	return convert.FromFile(&w), nil
}

// uploadContent returns the form that has a file.
func uploadContent(u files.Upload) (*content, error) {
	file, start, size, err := uploaded(u.Content)
	if err != nil {
		return nil, err
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	fields := [][2]string{{"purpose", u.Purpose}}
	if u.ExpiresAfter != 0 {
		fields = append(fields, [2]string{"expires_after[anchor]", "created_at"}, [2]string{"expires_after[seconds]", fmt.Sprint(int64(u.ExpiresAfter.Seconds()))})
	}
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, err
		}
	}
	if _, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + quoted.Replace(u.Filename) + `"`},
		"Content-Type":        {u.MIMEType},
	}); err != nil {
		return nil, err
	}
	head := bytes.Clone(form.Bytes())
	form.Reset()
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &content{w.FormDataContentType(), int64(len(head)) + size + int64(form.Len()), func() io.Reader {
		return io.MultiReader(bytes.NewReader(head), io.NewSectionReader(file, start, size), bytes.NewReader(form.Bytes()))
	}}, nil
}

// uploaded returns what is to be read of a file that is uploaded: at most a byte more
// than a file may have, which is for the server to refuse.
func uploaded(content io.Reader) (file io.ReaderAt, start, size int64, err error) {
	if at, ok := content.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		if start, err = at.Seek(0, io.SeekCurrent); err != nil {
			return nil, 0, 0, err
		}
		end, err := at.Seek(0, io.SeekEnd)
		return at, start, min(end-start, files.MaxBytes+1), err
	}
	data, err := io.ReadAll(io.LimitReader(content, files.MaxBytes+1))
	return bytes.NewReader(data), 0, int64(len(data)), err
}

// File returns a file. The error is NotFound.
func (c *Client) File(ctx context.Context, _ Caller, id string) (files.File, error) {
	var w wire.File
	err := c.Do(ctx, "GET", under(filesPath, id), nil, &w)
	return convert.FromFile(&w), err
}

// Files returns a page of the files with a purpose, or of all where it is empty.
func (c *Client) Files(ctx context.Context, _ Caller, purpose string, p Page) (List[files.File], error) {
	return list(ctx, c, filesPath, p, func(w wire.File) files.File { return convert.FromFile(&w) }, "purpose", purpose)
}

// DeleteFile removes a file with its bytes and its text.
func (c *Client) DeleteFile(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(filesPath, id), nil, nil)
}

// FileContent returns a file and a reader of its bytes, which are in memory.
func (c *Client) FileContent(ctx context.Context, caller Caller, id string) (files.File, io.Reader, error) {
	file, err := c.File(ctx, caller, id)
	if err != nil {
		return file, nil, err
	}
	resp, err := c.send(ctx, "GET", under(filesPath, id, "content"), nil, "")
	if err != nil {
		return file, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return file, nil, failed(ctx, err)
	}
	return file, bytes.NewReader(data), nil
}
