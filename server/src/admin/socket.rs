//! The server's side of the admin socket: one POST per subcommand.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use crate::runtime::Incoming;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::import_frames::FrameReader;
use super::stream::{ReceivedBody, SentBody};
use crate::ops::Failure;
use crate::ops::Operation;
use crate::ops::Operations;
use crate::ops::{ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, import};
use crate::rows::{unpacked, write_record};
use crate::runtime::sync::mpsc;
use crate::service::Service;

/// The socket's name in the data directory.
pub(super) const SOCKET_NAME: &str = "admin.sock";
/// Bytes of the arguments of one operation, at most.
const ARGUMENTS_BYTES_MAX: usize = 1 << 20;
/// Bytes of exported lines that are gathered before they are sent.
const EXPORT_PIECE_BYTES: usize = 256 << 10;

/// One line of the answer to an import.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ImportLine {
    /// What happened meanwhile.
    News(ImportReport),
    /// The last line of an import that worked.
    Done(ImportResult),
    /// The last line of one that did not.
    Failed(String),
}

type Answering = Pin<Box<dyn Future<Output = Response<SentBody>> + Send>>;

/// What answers requests on the admin socket of a running service.
pub fn admin_socket(
    service: Arc<Service>,
) -> impl Fn(Request<Incoming>) -> Answering + Clone + Send + Sync + 'static {
    move |request| Box::pin(answer(Arc::clone(&service), request))
}

async fn answer(service: Arc<Service>, request: Request<Incoming>) -> Response<SentBody> {
    if request.method() != Method::POST {
        return refusal(
            StatusCode::METHOD_NOT_ALLOWED,
            "POST the name of a subcommand",
        );
    }
    match request.uri().path() {
        "/ping" => respond(
            StatusCode::OK,
            json!({ "pid": std::process::id() }).to_string(),
        ),
        "/import" => respond(StatusCode::OK, importing(&service, request)),
        "/export" => respond(StatusCode::OK, exporting(&service)),
        _ => performing(service, request).await,
    }
}

async fn performing(service: Arc<Service>, request: Request<Incoming>) -> Response<SentBody> {
    let path = request.uri().path().to_owned();
    let body = Limited::new(request.into_body(), ARGUMENTS_BYTES_MAX);
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return refusal(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let operation = match Operation::from_request(&path, &body) {
        Ok(operation) => operation,
        Err(sentence) => return refusal(StatusCode::BAD_REQUEST, &sentence),
    };
    let control = service.control.clone();
    let performed = control.spawn_blocking(move || {
        let operations = Operations {
            engine: &service.engine,
            config: &service.config,
            now: service.now(),
            judged_at: service.judged_at(service.now()),
            credentials: service.credentials(),
            is_running: true,
        };
        operations.perform(operation)
    });
    match performed.await {
        Ok(Ok(answer)) => respond(StatusCode::OK, answer),
        Ok(Err(failure)) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &failure.to_string()),
        Err(_) => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the server panicked on this: its log says where",
        ),
    }
}

fn respond(status: StatusCode, body: impl Into<SentBody>) -> Response<SentBody> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
}

fn refusal(status: StatusCode, sentence: &str) -> Response<SentBody> {
    respond(status, json!({ "error": sentence }).to_string())
}

impl From<String> for SentBody {
    fn from(text: String) -> Self {
        Self::whole(text)
    }
}

/// The files in the body of an import.
struct SentFiles {
    frames: FrameReader<ReceivedBody>,
}

impl ImportFiles for SentFiles {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        let Some((name, format, file)) = self.frames.next_file()? else {
            return Ok(None);
        };
        Ok(Some(ImportFile {
            name,
            format,
            content: unpacked(Box::new(file))?,
        }))
    }
}

/// Starts an import and returns the stream of its news.
fn importing(service: &Arc<Service>, request: Request<Incoming>) -> SentBody {
    let query = request.uri().query().unwrap_or_default();
    let is_given = |name: &str| query.split('&').any(|pair| pair == format!("{name}=true"));
    let options = ImportOptions {
        is_strict: is_given("strict"),
        is_dry_run: is_given("dry_run"),
    };
    let (sender, body) = SentBody::pieces();
    let received = ReceivedBody::new(request.into_body(), &service.control);
    let engine = Arc::clone(&service.engine);
    service.control.spawn_blocking(move || {
        let mut files = SentFiles {
            frames: FrameReader::new(received),
        };
        let mut news = |report| send_line(&sender, &ImportLine::News(report));
        let last = match import(&engine, &mut files, options, &mut news) {
            Ok(result) => ImportLine::Done(result),
            Err(failure) => ImportLine::Failed(failure.to_string()),
        };
        send_line(&sender, &last);
        drop(files);
    });
    body
}

/// Sends a line; that nobody reads it any more does not matter to the import.
fn send_line(sender: &mpsc::Sender<io::Result<Bytes>>, line: &ImportLine) {
    let mut bytes = serde_json::to_vec(line).expect("texts and numbers always serialise");
    bytes.push(b'\n');
    let _ = sender.blocking_send(Ok(bytes.into()));
}

/// Starts an export and returns the stream of its lines; a failure cuts it.
fn exporting(service: &Arc<Service>) -> SentBody {
    let (sender, body) = SentBody::pieces();
    let engine = Arc::clone(&service.engine);
    service.control.spawn_blocking(move || {
        let mut piece = Vec::with_capacity(EXPORT_PIECE_BYTES);
        let exported = engine.catalog().export(&mut |record| {
            write_record(record, &mut piece);
            if piece.len() < EXPORT_PIECE_BYTES {
                return Ok(());
            }
            let full = std::mem::replace(&mut piece, Vec::with_capacity(EXPORT_PIECE_BYTES));
            let sent = sender.blocking_send(Ok(full.into()));
            sent.map_err(|_| nobody_reads())
        });
        let last = match exported {
            Ok(()) => Ok(piece.into()),
            Err(_) if sender.is_closed() => return,
            Err(error) => {
                let failure = Failure::from(error);
                tracing::error!(%failure, "an export was cut");
                Err(io::Error::other(failure))
            }
        };
        let _ = sender.blocking_send(last);
    });
    body
}

/// What makes the engine stop when the client has gone, or was cut off.
fn nobody_reads() -> subcat_engine::Error {
    subcat_engine::Error::Io {
        action: "send",
        path: "an export".into(),
        source: io::ErrorKind::BrokenPipe.into(),
    }
}
