//! Administrative operations: each exists once, for the pages, the admin socket and the
//! subcommands.
//!
//! An [`Operation`] is a type that holds its arguments; a subcommand sends it to the running server
//! or executes it on the catalog that it has opened. A change that pages make as well is a method
//! of [`Operations`].

mod accounts;
mod api_keys;
mod clock;
mod cluster;
mod error;
mod execute;
mod files;
mod import;
mod import_paths;
mod links;
mod live;
mod maintenance;
mod operation;
mod parsing;
mod records;

pub use accounts::{
    AccountListed, CreateAccount, DeleteAccount, DisableAccount, ListAccounts, ListSecondSteps,
    SecondStepListed, SetAccountPassword, TurnOffTotp,
};
pub use api_keys::{
    CreateKey, DayShown, KeyCreated, KeyDraft, KeyListed, KeyRolled, KeyShown, ListKeys, RevokeKey,
    RollKey, SetKeyLimit, ShowKey,
};
pub use clock::{ClockRead, ReadClock, ResetClock, RevivedKey};
pub use cluster::{
    ClusterRead, ForgetNode, NodeForgotten, NodeRead, ReadCluster, SnapshotWritten, WriteSnapshot,
};
pub use error::{OperationError, OperationRejection, RecordIds};
pub use execute::execute_named;
pub use files::{BucketSwept, FileForgotten, FileShown, ForgetFile, ShowFile, SweepBucket};
pub use import::{
    ImportError, ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, RefusedLine,
    import, with_nearest,
};
pub use import_paths::{
    FolderName, ForgetPaths, ListPaths, PathRow, PathsForgotten, PathsRemembered, RememberPaths,
};
pub use links::{LinkListed, ListLinks, WithdrawLink, link_id};
pub use live::{LiveRead, LiveRoute, ReadLive};
pub use maintenance::{
    BackUpCatalog, BackupMade, CompactStores, ExplainSearch, ReadStats, ReloadSettings,
    SearchCacheRead, StatsRead, VerifyCatalog,
};
pub(crate) use operation::to_json;
pub use operation::{Operation, Operations};
pub use records::{DeleteRecords, SetRecordActive, ShowRecord};
