//! Stored files, for administrators: find one by its release, forget it.

use askama::Template;
use http::StatusCode;
use subcat_engine::{CachedFile, ReleaseId};

use crate::ops::Operations;
use crate::service::Actor;
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

#[derive(Template)]
#[template(path = "console/admin_files.html")]
struct FilesPage<'a> {
    page: Frame,
    release: &'a str,
    file: Option<FileView>,
}

/// `GET /admin/files`: `release` is the upstream's name of a file.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let release = request.query.get("release");
    let files = request.site.service.engine.files();
    let file = ReleaseId::parse(release).and_then(|release| files.cached_file(&release));
    let template = FilesPage {
        page: request.frame("/admin"),
        release,
        file: file.map(|file| FileView::new(request, &file)),
    };
    answer::page(StatusCode::OK, &template)
}

/// `POST /admin/files`: forgets the file of `release`, which the next download fetches anew.
pub(crate) fn forget(request: &WebRequest) -> PageResult {
    let viewer = request.admin()?;
    let release = ReleaseId::parse(request.form.get("release")).ok_or(PageError::InvalidForm)?;
    let actor = Actor::Account(&viewer.account.email);
    let operations = Operations::of_service(&request.site.service, actor);
    // A file that is forgotten already, by a second click, is what was asked for.
    if operations.stored_file(&release).is_ok() {
        operations.forget_file(&release, false)?;
    }
    let location = format!("/admin/files?release={release}");
    Ok(request.see_other_with(&location, Notice::FileForgotten))
}
