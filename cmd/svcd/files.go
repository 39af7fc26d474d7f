package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/files"
)

const (
	sendTimeout = 30 * time.Minute       // for one upload
	pollEvery   = 300 * time.Millisecond // how often the status of a file is asked for
)

// fileCommands are the commands of users.
func fileCommands() []command {
	return []command{{
		words: "files upload", args: "PATH…", help: "upload files and wait until their text can be used",
		prepare: func(flags *flag.FlagSet) action {
			mimeType := flags.String("type", "", "MIME `type` of the files; without it their names tell")
			wait := flags.Duration("wait", 5*time.Minute, "how long to wait for the text of each file; 0 does not wait")
			return func(ctx context.Context, s *session, paths []string) error {
				if s.key == "" {
					return errors.New("no API key: set -key or SVC_API_KEY")
				}
				var failed error
				for _, path := range paths {
					u := &uploading{session: s, path: path, mimeType: *mimeType, wait: *wait}
					if err := u.run(ctx); err != nil {
						failed = errors.Join(failed, fmt.Errorf("%s: %w", path, err))
					}
				}
				return failed
			}
		},
	}}
}

// uploading is one file on its way to the server.
type uploading struct {
	*session
	path     string
	mimeType string
	wait     time.Duration
}

// uploaded is what is of interest in the server's File object.
type uploaded struct{ ID, Status, Filename string }

func (u *uploading) run(ctx context.Context) error {
	if _, err := os.Stat(u.path); err != nil {
		return errors.Unwrap(err) // without the path, which stands before every error
	}
	if u.mimeType == "" {
		if u.mimeType = files.TypeByName(u.path); u.mimeType == "" {
			return errors.New("the name does not tell the type of the file; set -type")
		}
	}
	b := &sending{line: newStatusLine(u.stderr), name: filepath.Base(u.path)}
	defer b.line.clear()
	answer, file, err := u.send(ctx, b)
	if err != nil {
		return err
	}
	if answer, file, err = u.await(ctx, b, answer, file); err != nil {
		return err
	}
	b.line.clear()
	if u.json {
		_, err = fmt.Fprintf(u.stdout, "%s\n", answer)
	} else {
		_, err = fmt.Fprintln(u.stdout, cells(file.ID, file.Status, file.Filename))
	}
	if err == nil && file.Status == string(files.Failed) {
		err = errors.New("the server could not read the file; its log says why")
	}
	return err
}

// send uploads the file.
func (u *uploading) send(ctx context.Context, b *sending) ([]byte, uploaded, error) {
	content, err := os.Open(u.path)
	if err != nil {
		return nil, uploaded{}, err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return nil, uploaded{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, uploaded{}, errors.New("it is not a file")
	}
	head, tail, contentType, err := u.form(b.name)
	if err != nil {
		return nil, uploaded{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	b.total = info.Size()
	body := io.MultiReader(bytes.NewReader(head), io.TeeReader(io.LimitReader(content, b.total), b), bytes.NewReader(tail))
	req, err := u.request(ctx, http.MethodPost, "/v1/files", body)
	if err != nil {
		return nil, uploaded{}, err
	}
	req.ContentLength = int64(len(head)) + b.total + int64(len(tail))
	req.Header.Set("Content-Type", contentType)
	return u.file(req)
}

// form returns what stands before and behind the file in the form.
func (u *uploading) form(name string) (head, tail []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("purpose", files.Purpose); err != nil {
		return nil, nil, "", err
	}
	escaped := strings.NewReplacer(`\`, `\\`, `"`, "%22").Replace(cells(name))
	_, err = w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + escaped + `"`},
		"Content-Type":        {u.mimeType},
	})
	if err != nil {
		return nil, nil, "", err
	}
	head = bytes.Clone(b.Bytes())
	b.Reset()
	err = w.Close()
	return head, b.Bytes(), w.FormDataContentType(), err
}

// await asks for the file until its text has been extracted, and returns it as it
// is then or when the time is up.
func (u *uploading) await(ctx context.Context, b *sending, answer []byte, file uploaded) ([]byte, uploaded, error) {
	end := time.After(u.wait)
	for file.Status == string(files.Uploaded) && u.wait > 0 {
		b.show("reading")
		select {
		case <-ctx.Done():
			return nil, file, ctx.Err()
		case <-end:
			return nil, file, fmt.Errorf("it is uploaded as %s and still not processed after %v", file.ID, u.wait)
		case <-time.After(pollEvery):
		}
		req, err := u.request(ctx, http.MethodGet, "/v1/files/"+file.ID, nil)
		if err != nil {
			return nil, file, err
		}
		if answer, file, err = u.file(req); err != nil {
			return nil, file, err
		}
	}
	return answer, file, nil
}

func (u *uploading) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(u.url, "/")+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+u.key)
	return req, nil
}

// file sends a request whose answer is a file.
func (u *uploading) file(req *http.Request) ([]byte, uploaded, error) {
	var file uploaded
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, file, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, file, refusal(resp)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(answer, &file)
	}
	return answer, file, err
}

// sending shows on a terminal how far an upload is. It counts what is written to
// it.
type sending struct {
	line        *statusLine
	name        string
	total, done int64
}

// Write implements [io.Writer].
func (s *sending) Write(p []byte) (int, error) {
	s.done += int64(len(p))
	s.show(fmt.Sprintf("%s of %s", bar(share(s.done, s.total)), byteText(s.total)))
	return len(p), nil
}

func (s *sending) show(state string) { s.line.show(cells(s.name) + "  " + state) }
