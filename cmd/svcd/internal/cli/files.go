package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/convert"
)

const (
	sendTimeout = 30 * time.Minute       // for one upload
	pollEvery   = 300 * time.Millisecond // how often the status of a file is asked for
)

// fileCommands are the commands of users.
func fileCommands() []command {
	return []command{{
		words: "files upload", args: "PATH…", access: uses, help: "upload files and wait until their text can be used",
		prepare: func(flags *flag.FlagSet) action {
			mimeType := flags.String("type", "", "MIME `type` of the files; without it their names tell")
			wait := flags.Duration("wait", 5*time.Minute, "how long to wait for the text of each file; 0 does not wait")
			return func(ctx context.Context, s *session, paths []string) error {
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

func (u *uploading) run(ctx context.Context) error {
	if _, err := os.Stat(u.path); err != nil {
		return errors.Unwrap(err) // without the path, which stands before every error
	}
	if u.mimeType == "" {
		if u.mimeType = files.TypeByName(u.path); u.mimeType == "" {
			return errors.New("the name does not tell the type of the file; set -type")
		}
	}
	b := &sending{line: newStatusLine(u.Stderr), name: filepath.Base(u.path)}
	defer b.line.clear()
	file, err := u.send(ctx, b)
	if err != nil {
		return sentence(err)
	}
	if file, err = u.await(ctx, b, file); err != nil {
		return sentence(err)
	}
	b.line.clear()
	if u.json {
		err = u.printJSON(convert.ToFile(&file))
	} else {
		_, err = fmt.Fprintln(u.Stdout, cells(file.ID, string(file.Status), file.Filename))
	}
	if err == nil && file.Status == files.Failed {
		err = errors.New("the server could not read the file; its log says why")
	}
	return err
}

// send uploads the file.
func (u *uploading) send(ctx context.Context, b *sending) (files.File, error) {
	content, err := os.Open(u.path)
	if err != nil {
		return files.File{}, err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return files.File{}, err
	}
	if !info.Mode().IsRegular() {
		return files.File{}, errors.New("it is not a file")
	}
	b.total = info.Size()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return u.server.UploadFile(ctx, client.Caller{}, files.Upload{
		Filename: cells(b.name), MIMEType: u.mimeType, Purpose: files.Purpose, Content: shownFile{content, b},
	})
}

// await asks for the file until its text has been extracted, and returns it as it
// is then or when the time is up.
func (u *uploading) await(ctx context.Context, b *sending, file files.File) (files.File, error) {
	end := time.After(u.wait)
	for file.Status == files.Uploaded && u.wait > 0 {
		b.show("reading")
		select {
		case <-ctx.Done():
			return file, ctx.Err()
		case <-end:
			return file, fmt.Errorf("it is uploaded as %s and still not processed after %v", file.ID, u.wait)
		case <-time.After(pollEvery):
		}
		var err error
		if file, err = u.server.File(ctx, client.Caller{}, file.ID); err != nil {
			return file, err
		}
	}
	return file, nil
}

// shownFile is a file that shows how far it has been read.
type shownFile struct {
	*os.File
	sending *sending
}

// ReadAt implements [io.ReaderAt].
func (f shownFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	f.sending.sent(offset + int64(n))
	return n, err
}

// sending shows on a terminal how far an upload is.
type sending struct {
	line  *statusLine
	name  string
	total int64
}

// sent shows how many bytes have been sent.
func (s *sending) sent(done int64) {
	s.show(fmt.Sprintf("%s of %s", bar(share(done, s.total)), byteText(s.total)))
}

func (s *sending) show(state string) { s.line.show(cells(s.name) + "  " + state) }
