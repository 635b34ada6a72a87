//! Bridge to the web pages, which run on the control runtime.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

use crate::api::{ApiWorker, ConnectionMemory};
use crate::request::HeadRejection;
use crate::respond::name_status;
use crate::runtime::{Body, Content};
use crate::service::Service;
use crate::web::{PageAnswer, PageBody, Site, handle, refuse};

/// Client of a page, and how it is connected.
pub(super) struct PageClient {
    address: IpAddr,
    is_https: bool,
}

impl PageClient {
    /// The client of a request, trusted proxies taken into account.
    pub(super) fn of(
        service: &Service,
        connection: &ConnectionMemory,
        headers: &HeaderMap,
    ) -> Self {
        let has_https_url = service.config().has_https_url();
        let proto = headers.get("x-forwarded-proto");
        let says_https = proto.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
        Self {
            address: connection.client_address(service, headers),
            is_https: has_https_url || (says_https && connection.is_proxied(service)),
        }
    }
}

/// The page that answers a request which HTTP's own rules refuse; `None` if it panicked. The rest
/// of the request is not read: the connection ends.
pub(super) async fn refusal(
    service: &Service,
    site: Arc<Site>,
    rejection: HeadRejection,
    head: Parts,
    client: PageClient,
) -> Option<Response<Body>> {
    let is_head = head.method == Method::HEAD;
    let PageClient { address, is_https } = client;
    let page = service
        .control
        .spawn(async move { refuse(&site, rejection, head.headers, address, is_https) });
    let mut response = page.await.ok()?.map(body_of);
    name_status(&mut response);
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    Some(if is_head {
        without_body(response)
    } else {
        response
    })
}

/// The page; `None` if it panicked.
pub(super) async fn answer(
    api: &ApiWorker,
    site: Arc<Site>,
    request: Request<Bytes>,
    client: PageClient,
) -> Option<Response<Body>> {
    let is_head = request.method() == Method::HEAD;
    let control = &api.service().control;
    let page =
        control.spawn(async move { handle(&site, request, client.address, client.is_https).await });
    let mut response = with_file(api, page.await.ok()?).await?;
    name_status(&mut response);
    Some(if is_head {
        without_body(response)
    } else {
        response
    })
}

/// The answer of a page, with the file that it admits.
async fn with_file(api: &ApiWorker, answer: PageAnswer) -> Option<Response<Body>> {
    let PageAnswer { response, refusal } = answer;
    let (head, body) = response.into_parts();
    let download = match body {
        PageBody::Bytes(bytes) => {
            let body = Body::from(Content::Bytes(bytes));
            return Some(Response::from_parts(head, body));
        }
        PageBody::File(download) => download,
    };
    match api.page_download(download).await {
        Ok(mut file) => {
            file.headers_mut().extend(head.headers);
            Some(file)
        }
        Err(rejection) => {
            let page = api
                .service()
                .control
                .spawn(async move { refusal.page(rejection) });
            Some(page.await.ok()?.map(body_of))
        }
    }
}

/// The body of an answer without a file.
fn body_of(body: PageBody) -> Body {
    match body {
        PageBody::Bytes(bytes) => Body::from(Content::Bytes(bytes)),
        PageBody::File(_) => Body::from(Content::Empty),
    }
}

fn without_body(mut response: Response<Body>) -> Response<Body> {
    let length_bytes = response.body().content.len_bytes();
    if length_bytes != 0 {
        let length = HeaderValue::from(length_bytes);
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    response.map(|body| Body {
        content: Content::Empty,
        ..body
    })
}

/// Response to a request after its page panicked.
pub(super) fn internal_error() -> Response<Body> {
    let body = Bytes::from_static(b"Internal Server Error\n");
    let mut response = Response::new(Body::from(Content::Bytes(body)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
