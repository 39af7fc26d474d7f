package console

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
)

// pageSize is how many objects a page of a list has.
const pageSize = 50

// list is a page of a list.
type list[T any] struct {
	Token string
	Items []T
	Query string // what was searched for
	Next  string // the query of the next page's link, empty on the last
	Noted string // what the page should say about itself
}

// nextPage is the query of the link to the page after an object.
func nextPage(more bool, after, query string) string {
	if !more {
		return ""
	}
	values := url.Values{"after": {after}}
	if query != "" {
		values.Set("q", query)
	}
	return "?" + values.Encode()
}

// newest is the page of a list that a request asks for, newest objects first.
func newest(r *http.Request) svc.Page {
	return svc.Page{Limit: pageSize, After: r.FormValue("after"), Desc: true}
}

// find leads to the object that a search names by its ID, or reports that the
// search is for something else.
func (v *request) find(query string) bool {
	for prefix, path := range map[string]string{
		"conv_": "/conversations/", "resp_": "/responses/", "chatcmpl_": "/completions/", "file_": "/files/", "batch_": "/batches/", "dec_": "/decisions/",
	} {
		if strings.HasPrefix(query, prefix) {
			_ = v.redirect(path + url.PathEscape(query))
			return true
		}
	}
	return false
}

// A search for words looks at so many objects at most, and for so long.
const (
	maxSearched = 1000
	searchTime  = 40 * time.Millisecond
)

// search reads a page of a list: with words, of those among the newest objects
// that match. Its work is bounded however much is stored.
func search[T any](v *request, read func(svc.Page) (svc.List[T], error), id func(T) string, match func(T, string) bool) (list[T], error) {
	query := strings.TrimSpace(v.r.FormValue("q"))
	result := list[T]{Token: v.session.Token, Query: query}
	p := newest(v.r)
	if query == "" {
		found, err := read(p)
		result.Items = found.Items
		if err == nil && len(found.Items) > 0 {
			result.Next = nextPage(found.HasMore, id(found.Items[len(found.Items)-1]), "")
		}
		return result, err
	}
	p.Limit = 25
	began, searched := v.c.opts.Now(), 0
	for searched < maxSearched && v.c.opts.Now().Sub(began) < searchTime {
		searched += p.Limit
		found, err := read(p)
		if err != nil {
			return result, err
		}
		for _, item := range found.Items {
			p.After = id(item)
			if match(item, strings.ToLower(query)) {
				result.Items = append(result.Items, item)
			}
		}
		if !found.HasMore {
			return result, nil
		}
	}
	result.Noted = fmt.Sprintf("The search has looked at %d of them. The link below goes on with older ones.", searched)
	result.Next = nextPage(true, p.After, query)
	return result, nil
}

// has reports whether a text or a tag has the words.
func has(words string, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), words) {
			return true
		}
	}
	return false
}

func hasTag(words string, tags map[string]string) bool {
	for key, value := range tags {
		if has(words, key, value, key+"="+value) {
			return true
		}
	}
	return false
}

func (c *Console) filesPage(v *request) error {
	if v.find(strings.TrimSpace(v.r.FormValue("q"))) {
		return nil
	}
	result, err := search(v, func(p svc.Page) (svc.List[files.File], error) { return c.service.Files(v.ctx(), v.caller, "", p) },
		func(f files.File) string { return f.ID }, func(f files.File, words string) bool { return has(words, f.Filename, f.MIMEType, string(f.Status)) })
	if err != nil {
		return err
	}
	return v.render("files", "Files", result)
}

// fileView is a file with the text that a model will see.
type fileView struct {
	Token string
	File  files.File
	About string // what is to be said of its status
	Text  string
	Cut   bool
}

func (c *Console) filePage(v *request) error {
	view, err := c.viewFile(v)
	if err != nil {
		return err
	}
	return v.render("file", view.File.Filename, view)
}

// fileAttached is a file in a form of the playground, asked for again while its
// text is being extracted.
func (c *Console) fileAttached(v *request) error {
	view, err := c.viewFile(v)
	if err != nil {
		return err
	}
	return v.fragment("files", "attached", view)
}

// viewFile reads the file that the path names.
func (c *Console) viewFile(v *request) (fileView, error) {
	f, err := c.service.File(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return fileView{}, err
	}
	view := fileView{Token: v.session.Token, File: f, About: aboutFile(f)}
	if f.Status == files.Processed {
		text, err := c.service.FileText(v.ctx(), v.caller, f.ID)
		if err != nil {
			return fileView{}, err
		}
		view.Cut = len(text) > maxShown
		view.Text = clip(maxShown, text)
	}
	return view, nil
}

func aboutFile(f files.File) string {
	switch {
	case f.Reason != "":
		return f.Reason.Sentence()
	case f.Note == files.NoText:
		return "No text was found in it. It may be a scan."
	case f.Note == files.Partial:
		return "It is damaged; the text is what is left."
	}
	return ""
}

// fileStatus is the row of a file in the list, asked for again while its text is
// being extracted.
func (c *Console) fileStatus(v *request) error {
	f, err := c.service.File(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.fragment("files", "row", f)
}

// fileContent sends a file as it was uploaded, never to be shown in place.
func (c *Console) fileContent(v *request) error {
	f, content, err := c.service.FileContent(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(f.Filename))
	_, err = io.Copy(v.w, content)
	return gone(err)
}

func (c *Console) deleteFile(v *request) error {
	if err := c.service.DeleteFile(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/files")
}

// uploadFiles stores the files of a form as they come, one after another. The
// token stands before them, or in a header. A script gets the rows of the list,
// other browsers the list.
func (c *Console) uploadFiles(v *request) error {
	reader, err := v.r.MultipartReader()
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Message: "Choose a file first.", Err: err}
	}
	allowed := v.r.Header.Get("X-Console-Token") != ""
	if allowed {
		if err := v.checkToken(v.r.Header.Get("X-Console-Token")); err != nil {
			return err
		}
	}
	var uploaded []files.File
	for len(uploaded) < pageSize {
		part, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return &fault.Error{Kind: fault.Invalid, Message: "The upload broke off.", Err: err}
		}
		if part.FormName() == "token" {
			token, _ := io.ReadAll(io.LimitReader(part, 256)) // a broken one matches nothing
			if err := v.checkToken(string(token)); err != nil {
				return err
			}
			allowed = true
			continue
		}
		if part.FormName() != "file" || part.FileName() == "" {
			continue
		}
		if !allowed {
			return v.checkToken("")
		}
		f, err := c.upload(v, part)
		if err != nil {
			return err
		}
		uploaded = append(uploaded, f)
	}
	if len(uploaded) == 0 {
		return &fault.Error{Kind: fault.Invalid, Message: "Choose a file first."}
	}
	if strings.Contains(v.r.Header.Get("Accept"), "application/json") {
		return v.json(fileNames(uploaded))
	}
	return v.redirect("/files")
}

func (c *Console) upload(v *request, part *multipart.Part) (files.File, error) {
	mimeType := files.TypeByName(part.FileName())
	if mimeType == "" {
		mimeType = part.Header.Get("Content-Type")
	}
	return c.service.UploadFile(v.ctx(), v.caller, files.Upload{
		Filename: part.FileName(), MIMEType: mimeType, Content: part, Purpose: files.Purpose,
	})
}

// fileNames are files as the script of the playground reads them.
func fileNames(uploaded []files.File) []map[string]string {
	var all []map[string]string
	for _, f := range uploaded {
		all = append(all, map[string]string{"id": f.ID, "filename": f.Filename, "status": string(f.Status)})
	}
	return all
}

func (v *request) json(body any) error {
	v.w.Header().Set("Content-Type", "application/json")
	_, err := v.w.Write(marshal(body))
	return gone(err)
}
