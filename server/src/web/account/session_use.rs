//! The last use of a session, by which the owner of an account tells theirs from others.

use std::sync::Arc;

use subcat_engine::{StateEvent, error_chain};

use crate::web::frame::session::SignIn;
use crate::web::frame::web_request::WebRequest;

/// Notes that the session of a request is in use, if the last note is an hour old: most pages
/// write nothing. The page does not wait for it.
pub(in crate::web) fn note(request: &Arc<WebRequest>) {
    let viewer = request.viewer.as_ref();
    let Some(viewer) = viewer.filter(|viewer| viewer.is_use_due) else {
        return;
    };
    let used = SignIn {
        account: viewer.account.id,
        event: StateEvent::UseSession(viewer.session_digest, request.effective_now),
        replaced: None,
    };
    let request = Arc::clone(request);
    let control = request.site.service.control.clone();
    let handle = control.clone();
    control.spawn(async move {
        // Refused if another page of the same visitor came first, or the session has ended since.
        let stored = request.site.sign_ins.submit(&handle, used).await;
        if let Some(Err(error)) = stored {
            let error = error_chain(&*error);
            tracing::error!(error, "the use of a session could not be noted");
        }
    });
}
