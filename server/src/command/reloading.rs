//! Reading the settings of a running server again.

use subcat_engine::error_chain;

use super::logging;
use crate::config::Sources;
use crate::http::Reloader;
use crate::runtime::ServiceManager;
use crate::service::ReloadFn;

/// Reads the same sources as the start did, and applies them. Notifies the service manager, and
/// logs the changes or the errors.
pub(super) fn reload_fn(sources: Sources, reloader: Reloader) -> ReloadFn {
    Box::new(move || {
        ServiceManager::reloading();
        let reloaded = sources
            .load()
            .map(|effective| reloader.apply(effective, |config| logging::set_level(&config.log)));
        ServiceManager::ready();
        match &reloaded {
            Ok(reloaded) => {
                let names = |changes: &[crate::config::SettingChange]| {
                    let names: Vec<&str> = changes.iter().map(|c| c.name.as_str()).collect();
                    names.join(", ")
                };
                let applied = names(&reloaded.applied);
                tracing::info!(applied, "the settings were read again");
                if !reloaded.needs_restart.is_empty() {
                    let settings = names(&reloaded.needs_restart);
                    tracing::warn!(settings, "these settings need a restart");
                }
            }
            Err(errors) => {
                let errors = error_chain(errors).replace('\n', "; ");
                tracing::error!(errors, "the settings are not valid: nothing was changed");
            }
        }
        reloaded
    })
}
