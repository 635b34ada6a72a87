//! Catalogs of any size, invented: import records with the statistical shape of real ones.
//!
//! Popularity follows Zipf–Mandelbrot laws over a fixed pool of titles, so a few titles have
//! thousands of records and most have one. A record depends on the seed and its number only:
//! a smaller catalog is the beginning of a larger one. Every title, name, release and id is made
//! up (catalog ids come from ranges that real ones do not reach).

mod description;
mod dice;
mod past;
mod generator;
mod file;
mod pool;
mod vocabulary;

pub use file::write_file;
pub use generator::Generator;
pub use past::{LONG_WORD, OLD_SERIES, OLD_TEXT, OLD_WORD, SHARED_TEXT, shared_title};
