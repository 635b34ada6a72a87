//! The server's side of the admin socket: one POST per operation, import or export.

use std::borrow::Cow;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde::{Deserialize, Serialize};
use serde_json::json;
use subcat_engine::error_chain;

use super::bringing::bring_all;
use super::import_frames::FrameReader;
use super::stream::{SentBody, received_body};
use crate::limits::{OPERATION_BYTES_MAX, SOCKET_PIECE_BYTES_MAX};
use crate::ops::{
    ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, Operations, execute_named,
    import,
};
use crate::request::parameters;
use crate::rows::{unpacked, write_record};
use crate::runtime::{Moment, PieceReader, WorkKind};
use crate::service::{Actor, Service};
use crate::traces::SpanFacts;
use hyper::body::Incoming;
use tokio::sync::mpsc;

/// The socket's name in the data directory.
pub const SOCKET_NAME: &str = "admin.sock";

/// One line of the answer to an import.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ImportLine {
    /// Progress of a running import.
    #[serde(rename = "news")]
    Report(ImportReport),
    /// The last line of an import that succeeded.
    Done(ImportResult),
    /// The last line of an import that failed, with the reason.
    Failed(String),
}

type SocketFuture = Pin<Box<dyn Future<Output = Response<SentBody>> + Send>>;

/// Handler of requests on the admin socket of a running service.
pub fn admin_socket(
    service: Arc<Service>,
) -> impl Fn(Request<Incoming>) -> SocketFuture + Clone + Send + Sync + 'static {
    move |request| Box::pin(answer(Arc::clone(&service), request))
}

async fn answer(service: Arc<Service>, request: Request<Incoming>) -> Response<SentBody> {
    if request.method() != Method::POST {
        return rejection(
            StatusCode::METHOD_NOT_ALLOWED,
            "only POST is allowed, to the name of an operation",
        );
    }
    match request.uri().path() {
        "/ping" => respond(
            StatusCode::OK,
            json!({ "pid": std::process::id() }).to_string(),
        ),
        "/import" => respond(StatusCode::OK, importing(&service, request)),
        "/bring" => bringing(service, request).await,
        "/export" => respond(StatusCode::OK, exporting(&service)),
        _ => executing(service, request).await,
    }
}

async fn executing(service: Arc<Service>, request: Request<Incoming>) -> Response<SentBody> {
    let path = request.uri().path();
    let name = path.strip_prefix('/').unwrap_or(path).to_owned();
    let body = Limited::new(request.into_body(), OPERATION_BYTES_MAX);
    let arguments = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return rejection(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let control = service.control.clone();
    let executed = control.run_waiting(WorkKind::Administration, async move {
        let started = service.clock.now();
        let operations = Operations::of_service(&service, Actor::CommandLine);
        let executed = execute_named(&operations, &name, &arguments).await;
        trace(&service, name.into(), started, executed.is_err());
        executed
    });
    match executed.await {
        Ok(Ok(answer)) => respond(StatusCode::OK, answer),
        Ok(Err(error)) => {
            let status = if error.is_malformed() {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::UNPROCESSABLE_ENTITY
            };
            rejection(status, &error_chain(&error))
        }
        Err(_) => rejection(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the operation panicked: the log of the server says where",
        ),
    }
}

/// Stores the files of an import. The answer comes when they are durable.
async fn bringing(service: Arc<Service>, request: Request<Incoming>) -> Response<SentBody> {
    let received = received_body(request.into_body(), &service.control);
    let control = service.control.clone();
    // Not among transfers: the import that waits for it has a place there.
    let stored = control.run_waiting(WorkKind::Administration, async move {
        let started = service.clock.now();
        let stored = bring_all(&service, &mut FrameReader::new(received)).await;
        trace(&service, "bring".into(), started, stored.is_err());
        stored
    });
    match stored.await {
        Ok(Ok(count)) => respond(StatusCode::OK, json!({ "stored": count }).to_string()),
        Ok(Err(error)) => rejection(StatusCode::UNPROCESSABLE_ENTITY, &error_chain(&error)),
        Err(_) => rejection(
            StatusCode::INTERNAL_SERVER_ERROR,
            "storing files panicked: the log of the server says where",
        ),
    }
}

/// Records the span of an operation that has ended.
fn trace(service: &Service, name: Cow<'static, str>, started: Moment, is_failed: bool) {
    service.tracer.record(SpanFacts {
        name,
        is_failed,
        ..SpanFacts::of_step("operation", started, service.clock.now())
    });
}

fn respond(status: StatusCode, body: impl Into<SentBody>) -> Response<SentBody> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
}

fn rejection(status: StatusCode, sentence: &str) -> Response<SentBody> {
    respond(status, json!({ "error": sentence }).to_string())
}

impl From<String> for SentBody {
    fn from(text: String) -> Self {
        Self::whole(text)
    }
}

/// The files in the body of an import.
struct SentFiles {
    frames: FrameReader<PieceReader>,
}

impl ImportFiles for SentFiles {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        let Some(file) = self.frames.next_file()? else {
            return Ok(None);
        };
        Ok(Some(ImportFile {
            name: file.name,
            format: file.format,
            content: unpacked(Box::new(file.content))?,
        }))
    }
}

/// Starts an import and returns the stream of its reports.
fn importing(service: &Arc<Service>, request: Request<Incoming>) -> SentBody {
    let query = request.uri().query().unwrap_or_default();
    let is_given =
        |wanted: &str| parameters(query).any(|(name, value)| name == wanted && value == "true");
    let options = ImportOptions {
        is_strict: is_given("strict"),
        is_dry_run: is_given("dry_run"),
    };
    let (sender, body) = SentBody::pieces();
    let received = received_body(request.into_body(), &service.control);
    let control = service.control.clone();
    let service = Arc::clone(service);
    control.detach(WorkKind::Transfers, move || {
        let started = service.clock.now();
        let mut files = SentFiles {
            frames: FrameReader::new(received),
        };
        let mut report = |report| send_line(&sender, &ImportLine::Report(report));
        let imported = import(&service.engine, &mut files, options, &mut report);
        trace(&service, "import".into(), started, imported.is_err());
        let last = match imported {
            Ok(result) => ImportLine::Done(result),
            Err(error) => ImportLine::Failed(error_chain(&error)),
        };
        send_line(&sender, &last);
        drop(files);
    });
    body
}

/// Sends a line. A client that has disconnected does not end the import.
fn send_line(sender: &mpsc::Sender<io::Result<Bytes>>, line: &ImportLine) {
    let mut bytes = serde_json::to_vec(line).expect("texts and numbers always serialise");
    bytes.push(b'\n');
    let _ = sender.blocking_send(Ok(bytes.into()));
}

/// Starts an export and returns the stream of its lines; a failure ends the stream early.
fn exporting(service: &Arc<Service>) -> SentBody {
    let (sender, body) = SentBody::pieces();
    let engine = Arc::clone(&service.engine);
    service.control.detach(WorkKind::Transfers, move || {
        let mut piece = Vec::with_capacity(SOCKET_PIECE_BYTES_MAX);
        let exported = engine.catalog().export(&mut |record| {
            write_record(record, &mut piece);
            if piece.len() < SOCKET_PIECE_BYTES_MAX {
                return Ok(());
            }
            let full = std::mem::replace(&mut piece, Vec::with_capacity(SOCKET_PIECE_BYTES_MAX));
            let sent = sender.blocking_send(Ok(full.into()));
            sent.map_err(|_| client_gone())
        });
        let last = match exported {
            Ok(left_out) => {
                write_left_out(&left_out, &mut piece);
                Ok(piece.into())
            }
            Err(_) if sender.is_closed() => return,
            Err(error) => {
                tracing::error!(error = error_chain(&error), "an export ended early");
                Err(io::Error::other(error))
            }
        };
        let _ = sender.blocking_send(last);
    });
    body
}

/// Byte before the report at the end of an export: no line of JSON contains it.
pub const LEFT_OUT_MARK: u8 = 0;

/// Writes which records are not among the lines, if any, one to a line.
fn write_left_out(left_out: &[subcat_engine::Error], piece: &mut Vec<u8>) {
    for (error_idx, error) in left_out.iter().enumerate() {
        piece.push(if error_idx == 0 { LEFT_OUT_MARK } else { b'\n' });
        piece.extend_from_slice(error_chain(error).as_bytes());
    }
}

/// The error that ends the export of a client that has disconnected.
fn client_gone() -> subcat_engine::Error {
    subcat_engine::Error::Io {
        action: "send",
        path: "an export".into(),
        source: io::ErrorKind::BrokenPipe.into(),
    }
}
