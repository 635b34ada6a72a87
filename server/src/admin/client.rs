//! Client of the admin socket: a subcommand that has found a running server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use subcat_engine::BroughtFile;

use super::import_frames::{BroughtHeader, ImportFrameWriter};
use super::socket::{ImportLine, SOCKET_NAME};
use super::stream::{SentBody, received_body};
use crate::limits::SOCKET_PIECE_BYTES_MAX;
use crate::ops::{ImportOptions, ImportReport, ImportResult, Operation, to_json};
use crate::runtime::{Control, ask_socket};
use hyper::body::Incoming;
use tokio::sync::mpsc;

/// An operation that the running server did not execute, or did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is a socket, but it cannot be used.
    #[error("{}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The runtime of the connection could not be started, or the connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The connection ended within the answer.
    #[error("the server closed the connection")]
    Disconnected(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection ended within an import.
    #[error("the server stopped during the import: start it and run the import again")]
    ImportDisconnected,
    /// A file of an import could not be read, so the server discarded the import.
    #[error("{0}: nothing was loaded")]
    ImportNotSent(io::Error),
    /// The server did not execute the operation.
    #[error("{reason}")]
    Rejected {
        /// The line that the server gives as its reason.
        reason: String,
    },
}

/// A connection to the server that runs on a data directory.
pub struct Client {
    control: Control,
    socket: PathBuf,
    pid: u64,
}

impl Client {
    /// Finds the server that runs on `data`; `None` when there is none.
    ///
    /// Errors: there is a socket, but it cannot be used.
    pub fn find(data: &Path) -> Result<Option<Self>, ClientError> {
        let socket = data.join(SOCKET_NAME);
        let control = Control::start()?;
        let mut client = Self {
            control,
            socket,
            pid: 0,
        };
        match client.post("/ping", SentBody::whole("{}")) {
            Ok(response) => {
                let body = client.read(response)?;
                let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
                client.pid = answer["pid"].as_u64().unwrap_or_default();
                Ok(Some(client))
            }
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::ConnectionRefused => Ok(None),
                _ => Err(ClientError::Connect {
                    path: client.socket,
                    source: error,
                }),
            },
        }
    }

    /// Process id of the server; 0 if it sends none.
    pub fn pid(&self) -> u64 {
        self.pid
    }

    /// Has the server execute an operation and returns its answer, in JSON.
    pub fn execute<O: Operation>(&self, operation: &O) -> Result<String, ClientError> {
        self.execute_json(O::NAME, to_json(operation))
    }

    fn execute_json(&self, name: &str, arguments: String) -> Result<String, ClientError> {
        let path = format!("/{name}");
        let response = self.post(&path, SentBody::whole(arguments))?;
        let status = response.status();
        let body = self.read(response)?;
        let text = String::from_utf8_lossy(&body).into_owned();
        if status == StatusCode::OK {
            return Ok(text);
        }
        Err(ClientError::Rejected {
            reason: reason_in(&text),
        })
    }

    /// Imports the files that `write` writes, on a thread of its own, and calls `report` with the
    /// progress that the server reports.
    pub fn import(
        &self,
        options: ImportOptions,
        write: impl FnOnce(&mut ImportFrameWriter<PieceWriter>) -> io::Result<()> + Send,
        report: &mut dyn FnMut(ImportReport),
    ) -> Result<ImportResult, ClientError> {
        let (sender, body) = SentBody::pieces();
        let ImportOptions {
            is_strict,
            is_dry_run,
        } = options;
        let path = format!("/import?strict={is_strict}&dry_run={is_dry_run}");
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                let piece_writer = PieceWriter {
                    sender: sender.clone(),
                    piece: Vec::with_capacity(SOCKET_PIECE_BYTES_MAX),
                };
                let mut writer = ImportFrameWriter::new(piece_writer);
                let written = write(&mut writer).and_then(|()| writer.flush());
                if written.is_err() {
                    // Without an error the server would take the part that it has for the whole.
                    let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
                    let _ = sender.blocking_send(Err(cut));
                }
                written
            });
            let read = self.post(&path, body).map_err(ClientError::from);
            let read = read.and_then(|response| self.read_import(response, report));
            let written = writing
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            match (read, written) {
                (Ok(result), Ok(())) => Ok(result),
                // The writer fails with a broken pipe because the server has stopped reading: its
                // reason is in the answer.
                (Err(read), Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(read),
                (_, Err(error)) => Err(ClientError::ImportNotSent(error)),
                (Err(read), Ok(())) => Err(read),
            }
        })
    }

    /// Has the server store files that an import brings. Returns when they are durable.
    pub fn bring(&self, files: &[BroughtFile<'_>]) -> Result<(), ClientError> {
        let (sender, body) = SentBody::pieces();
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                let mut writer = ImportFrameWriter::new(PieceWriter {
                    sender,
                    piece: Vec::with_capacity(SOCKET_PIECE_BYTES_MAX),
                });
                for file in files {
                    let header = BroughtHeader {
                        release: file.release.as_str().to_owned(),
                        kind: file.kind.extension().to_owned(),
                    };
                    writer.write_content(&header, &mut &*file.content)?;
                }
                writer.flush()
            });
            let answered = self.post("/bring", body).map_err(ClientError::from);
            let written = writing
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            let response = answered?;
            let status = response.status();
            let text = self.read(response)?;
            if status != StatusCode::OK {
                let reason = reason_in(&String::from_utf8_lossy(&text));
                return Err(ClientError::Rejected { reason });
            }
            written.map_err(ClientError::from)
        })
    }

    /// The lines of every record, to be read to their end.
    pub fn export(&self) -> Result<impl Read, ClientError> {
        let response = self.post("/export", SentBody::whole("{}"))?;
        Ok(received_body(response.into_body(), &self.control.handle()))
    }

    fn post(&self, path: &str, body: SentBody) -> io::Result<Response<Incoming>> {
        let request = Request::post(path)
            .header(http::header::HOST, "admin")
            .body(body);
        let request = request.map_err(io::Error::other)?;
        self.control.block_on(ask_socket(&self.socket, request))
    }

    fn read(&self, response: Response<Incoming>) -> Result<Bytes, ClientError> {
        let collected = self.control.block_on(response.into_body().collect());
        let collected = collected.map_err(|error| ClientError::Disconnected(Box::new(error)))?;
        Ok(collected.to_bytes())
    }

    fn read_import(
        &self,
        response: Response<Incoming>,
        report: &mut dyn FnMut(ImportReport),
    ) -> Result<ImportResult, ClientError> {
        let body = received_body(response.into_body(), &self.control.handle());
        for line in BufReader::new(body).lines() {
            let line: ImportLine = serde_json::from_str(&line?).map_err(io::Error::from)?;
            match line {
                ImportLine::Report(progress) => report(progress),
                ImportLine::Done(result) => return Ok(result),
                ImportLine::Failed(reason) => return Err(ClientError::Rejected { reason }),
            }
        }
        Err(ClientError::ImportDisconnected)
    }
}

fn reason_in(body: &str) -> String {
    let value: Option<Value> = serde_json::from_str(body).ok();
    let reason = value.as_ref().and_then(|value| value["error"].as_str());
    reason.unwrap_or("the server gave no reason").to_owned()
}

/// Gathers bytes into pieces of a body.
pub struct PieceWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if SOCKET_PIECE_BYTES_MAX < self.piece.len() + bytes.len() {
            self.flush()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(SOCKET_PIECE_BYTES_MAX));
        if piece.is_empty() {
            return Ok(());
        }
        let sent = self.sender.blocking_send(Ok(piece.into()));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
