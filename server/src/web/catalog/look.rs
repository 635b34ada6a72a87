//! A look into the file of a record: its first cues, or the names in its archive. It is fetched and
//! stored as for a download, and counts as none.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use subcat_engine::{FileKind, LanguageTerm, RecordId};

use super::record_view::RecordView;
use crate::api::open_file;
use crate::cache::OpenFile;
use crate::files::{CueLook, NamesLook, archive_names, first_cues};
use crate::limits::{HIT_DESCRIPTION_CHARS_MAX, HIT_TITLE_CHARS_MAX, LOOK_CUES_MAX};
use crate::runtime::WorkKind;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/look.html")]
struct LookPage {
    page: Frame,
    hit: RecordView,
    cues: Vec<CueLook>,
    names: NamesLook,
    is_archive: bool,
}

/// `GET /catalog/{id}/look`.
pub(crate) async fn show(request: &Arc<WebRequest>, id: &str) -> PageResult {
    request.reader()?;
    let id = RecordId::parse(id).ok_or(PageError::NotFound)?;
    let site = &request.site;
    let opened = open_file(&site.service, &site.files.variants, id).await;
    let (file, open) = opened.map_err(|error| PageError::File(error.into()))?;
    request
        .blocking_as(WorkKind::Decoding, move |request| {
            look_page(request, id, file.kind, &open)
        })
        .await
}

fn look_page(request: &WebRequest, id: RecordId, kind: FileKind, open: &OpenFile) -> PageResult {
    let snapshot = request.site.service.engine.catalog().snapshot();
    let doc = snapshot.doc(id)?.ok_or(PageError::NotFound)?;
    let hit = RecordView::new(request, &snapshot, &doc)?;
    let language = snapshot.language_of(&doc)?;
    let language = language.map_or(String::new(), LanguageTerm::primary);
    snapshot.ensure_not_truncated()?;
    let content = open.bytes();
    let template = LookPage {
        page: request.frame("/catalog"),
        hit: hit.shortened(HIT_TITLE_CHARS_MAX, HIT_DESCRIPTION_CHARS_MAX),
        cues: first_cues(content, kind, &language, LOOK_CUES_MAX),
        names: archive_names(content, kind),
        is_archive: !kind.is_text(),
    };
    answer::page(StatusCode::OK, &template)
}
