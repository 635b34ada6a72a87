//! Stored files, for administrators: list them, find one by its release, forget it.

use askama::Template;
use http::StatusCode;
use subcat_engine::{CachedFile, ReleaseId};

use crate::limits::STORED_FILES_PER_PAGE;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

/// A stored file, in words.
struct FileView {
    kind: &'static str,
    size: String,
    name: String,
    sha256: String,
    refetch_at: String,
}

impl FileView {
    fn new(request: &WebRequest, file: &CachedFile) -> Self {
        let name = file.upstream_name.as_ref();
        let refetch_at = file.refetch_at;
        Self {
            kind: file.kind.extension(),
            size: request.lang.bytes(file.size_bytes),
            name: name.map_or(String::new(), |name| name.as_str().to_owned()),
            sha256: file.content.to_string(),
            refetch_at: refetch_at.map_or(String::new(), |at| request.lang.moment(at)),
        }
    }
}

/// A line of the list of stored files.
struct FileRow {
    release: ReleaseId,
    kind: &'static str,
    size: String,
}

#[derive(Template)]
#[template(path = "console/admin_files.html")]
struct FilesPage<'a> {
    page: Frame,
    release: &'a str,
    file: Option<FileView>,
    /// True if the page asks before the file is forgotten.
    is_asking: bool,
    rows: Vec<FileRow>,
    /// First release of the next page.
    next: Option<ReleaseId>,
}

/// `GET /admin/files`: `release` is the upstream's name of a file; without one that is stored, a
/// list of the files from it on, or from `from` on.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let release = request.query.get("release");
    let files = request.site.service.engine.files();
    let file = ReleaseId::parse(release).and_then(|release| files.cached_file(&release));
    let from = match request.query.get("from") {
        "" => release,
        from => from,
    };
    let (rows, next) = if file.is_some() {
        (Vec::new(), None)
    } else {
        rows_from(request, from)?
    };
    let template = FilesPage {
        page: request.frame("/admin"),
        release,
        file: file.map(|file| FileView::new(request, &file)),
        is_asking: request.query.has("forget"),
        rows,
        next,
    };
    answer::page(StatusCode::OK, &template)
}

/// A page of the list, and the first release of the next one.
fn rows_from(
    request: &WebRequest,
    from: &str,
) -> Result<(Vec<FileRow>, Option<ReleaseId>), PageError> {
    let files = request.site.service.engine.files();
    let mut releases = files.releases_from(from, STORED_FILES_PER_PAGE + 1)?;
    let next = if STORED_FILES_PER_PAGE < releases.len() {
        releases.pop()
    } else {
        None
    };
    let rows = releases.into_iter().filter_map(|release| {
        // A file that was forgotten since the listing is left out.
        let file = files.cached_file(&release)?;
        Some(FileRow {
            kind: file.kind.extension(),
            size: request.lang.bytes(file.size_bytes),
            release,
        })
    });
    Ok((rows.collect(), next))
}

/// `POST /admin/files`: forgets the file of `release`, which the next download fetches anew.
pub(crate) async fn forget(request: &WebRequest) -> PageResult {
    request.admin()?;
    let release = ReleaseId::parse(request.form.get("release")).ok_or(PageError::InvalidForm)?;
    let operations = request.operations()?;
    // A file that is forgotten already, after a second click, is the wanted outcome.
    if operations.stored_file(&release).is_ok() {
        operations.forget_file(&release, false).await?;
    }
    let location = format!("/admin/files?release={release}");
    Ok(request.see_other_with(&location, Notice::FileForgotten))
}
