//! Transport of administration: metrics and health on the admin address; one POST per operation on
//! the socket in the data directory, with a subcommand as its client.

mod bringing;
mod client;
mod import_frames;
mod metrics;
mod pages;
mod socket;
mod stream;

pub use client::{Client, ClientError, PieceWriter};
pub use import_frames::ImportFrameWriter;
pub use pages::{admin_pages, starting_pages};
pub use socket::{LEFT_OUT_MARK, SOCKET_NAME, admin_socket};
pub use stream::SentBody;
