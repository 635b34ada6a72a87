//! An upstream source on a loopback port: it serves the files of the demo over HTTP.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;

use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};

use super::files::file;
use crate::admin::SentBody;
use crate::files::content_disposition;
use crate::runtime::{AdminListener, AdminServer, ControlHandle};
use hyper::body::Incoming;

type Answering = Pin<Box<dyn Future<Output = Response<SentBody>> + Send>>;

/// An HTTP server that serves until it is dropped.
pub struct LocalUpstream {
    address: SocketAddr,
    _server: AdminServer,
}

impl LocalUpstream {
    /// Listens on a free port. Errors: none is free.
    pub fn start(control: &ControlHandle) -> io::Result<Self> {
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = AdminListener::tcp(any_port, control)?;
        let address = listener
            .local_addr()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        let handler = |request: Request<Incoming>| -> Answering {
            Box::pin(async move { answer(request.uri().path()) })
        };
        Ok(Self {
            address,
            _server: AdminServer::start(listener, control, handler),
        })
    }

    /// The value of the setting `upstream.url` for this server.
    pub fn url_template(&self) -> String {
        format!("http://{}/files/{{source_release_id}}", self.address)
    }
}

fn answer(path: &str) -> Response<SentBody> {
    let found = path.strip_prefix("/files/").and_then(file);
    let Some(found) = found else {
        let mut response = Response::new(SentBody::whole("no such file\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let disposition = content_disposition(&found.name);
    let mut response = Response::new(SentBody::whole(found.content));
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_the_catalog_have_files_and_others_do_not() {
        let found = answer("/files/207362");
        assert_eq!(found.status(), StatusCode::OK);
        let disposition = found.headers()[CONTENT_DISPOSITION].to_str().unwrap();
        assert!(
            disposition.starts_with("attachment; filename=\""),
            "{disposition}"
        );
        assert_eq!(answer("/files/0").status(), StatusCode::NOT_FOUND);
        assert_eq!(answer("/").status(), StatusCode::NOT_FOUND);
    }
}
