//! Atom feeds (RFC 4287): the newest of the catalog, of a search, of a title.

use askama::Template;
use bytes::Bytes;
use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Response, StatusCode};
use subcat_engine::{Doc, ListOrder, ListPage, Snapshot, TitlePart};

use super::record_view::{RecordView, title_number, xml_text};
use super::results;
use super::search_box;
use super::search_form::filters_in_words;
use crate::limits::FEED_ENTRIES_MAX;
use crate::web::frame::answer::{self, PageBody, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::feed_token::is_feed_key;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params::{self, Params};
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/feed.xml")]
struct Feed {
    title: String,
    base_url: String,
    /// Address of the feed without its token: its identifier.
    id: String,
    /// Page of the catalog that shows the same.
    page: String,
    updated: String,
    hits: Vec<RecordView>,
}

/// `GET /feed.atom`: with the parameters of the catalog, or `title_id`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let kept = request.query.without(&["token", "lang", "theme", "page"]);
    let params = Params::parse(&kept);
    let snapshot = request.site.service.engine.catalog().snapshot();
    let (docs, page) = match title_number(params.get("title_id")) {
        Some(number) => {
            let listing = snapshot.of_title(number, TitlePart::All, FIRST_PAGE)?;
            (listing.docs, format!("/title/tt{number:07}"))
        }
        None => found(request, &snapshot, &params)?,
    };
    let hits = RecordView::list(request, &snapshot, &docs)?.into_iter();
    let hits: Vec<_> = hits.map(RecordView::without_controls).collect();
    snapshot.ensure_not_truncated()?;
    let base_url = request.base_url();
    let feed = Feed {
        title: feed_title(request, &params, &hits),
        id: format!("{base_url}/feed.atom?{kept}"),
        page: format!("{base_url}{page}"),
        updated: hits
            .iter()
            .map(RecordView::posted_at)
            .max()
            .unwrap_or(EPOCH)
            .to_owned(),
        base_url,
        hits,
    };
    let xml = answer::rendered(&feed)?;
    let etag = format!("\"{:08x}\"", crc32fast::hash(xml.as_bytes()));
    let known = request.headers.get(IF_NONE_MATCH);
    let mut response = if known.is_some_and(|known| known.as_bytes() == etag.as_bytes()) {
        let mut response = Response::new(PageBody::Bytes(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        answer::bytes(StatusCode::OK, "application/atom+xml; charset=utf-8", xml)
    };
    response
        .headers_mut()
        .insert(ETAG, HeaderValue::try_from(etag)?);
    Ok(response)
}

/// Name of a feed in a reader that has several: the title, words or filters that it follows.
fn feed_title(request: &WebRequest, params: &Params, hits: &[RecordView]) -> String {
    let is_of_title = title_number(params.get("title_id")).is_some();
    let filters = filters_in_words(params, request.lang);
    let subject = match hits.first() {
        Some(hit) if is_of_title => hit.title().to_owned(),
        _ if params.get("query").is_empty() => filters,
        _ if filters.is_empty() => params.get("query").to_owned(),
        _ => format!("{} ({filters})", params.get("query")),
    };
    match subject.trim() {
        "" => {
            let name = request.lang.t("new subtitles", "subtítulos nuevos");
            format!("subcat: {name}")
        }
        subject => xml_text(&format!("subcat: {subject}")),
    }
}

/// Time of a feed without entries.
const EPOCH: &str = "1970-01-01T00:00:00Z";
const FIRST_PAGE: ListPage = ListPage::first(FEED_ENTRIES_MAX);

/// The records of a search, or the newest that pass the filters, and the page that shows them.
fn found<'s>(
    request: &WebRequest,
    snapshot: &'s Snapshot,
    params: &Params,
) -> Result<(Vec<Doc<'s>>, String), PageError> {
    let has_alias = request.site.service.compat.imdb_id_alias;
    let params = results::meant(request, search_box::read(params, has_alias), has_alias)?;
    let text = params.without(&[]);
    let query = results::parse(&params, &text, has_alias);
    let query = query.map_err(|_| PageError::NotFound)?;
    let page = format!("/catalog?{text}");
    if !search_box::has_criterion(&params) {
        let newest = snapshot.listed(query.filters(), ListOrder::Newest, FIRST_PAGE)?;
        return Ok((newest.docs, page));
    }
    let hits = snapshot.search(&query)?;
    let count = hits.len().min(FEED_ENTRIES_MAX);
    let docs = (0..count).map(|idx| snapshot.hit_doc(&hits, idx));
    Ok((docs.collect::<Result<_, _>>()?, page))
}

#[derive(Template)]
#[template(path = "catalog/feed_address.html")]
struct AddressPage {
    page: Frame,
    url: String,
}

/// `POST /profile/feed`: a new address for the feeds of the account, which is shown this once. The
/// one before it ends; with `action=end` without a new one.
pub(crate) async fn renew(request: &WebRequest) -> PageResult {
    let account = &request.viewer()?.account;
    let operations = request.operations()?;
    if request.form.get("action") == "end" {
        let keys = operations.engine.accounts().api_keys_of(account.id);
        for key in keys.iter().filter(|key| is_feed_key(key)) {
            operations.revoke_api_key(key.id).await?;
        }
        return Ok(request.see_other_with("/profile", Notice::FeedEnded));
    }
    // A reload of the answer would end the address that was just copied.
    let token = request.form.get("token");
    let Ok(claim) = request.site.form_tokens.claim(account.id, token) else {
        return Ok(request.see_other_with("/profile", Notice::FeedExists));
    };
    let (_, text) = operations.replace_feed_key(account.id).await?;
    claim.finish_unnamed();
    let template = AddressPage {
        page: request.frame_once("/profile"),
        url: format!(
            "{}/feed.atom?token={}",
            request.base_url(),
            params::encode(&text)
        ),
    };
    answer::page(StatusCode::OK, &template)
}
