//! A catalog as a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::generator::Generator;
use crate::error::{BenchError, Result};

/// Bytes that are buffered before a write.
const BATCH_BYTES: usize = 1 << 20;

/// Writes the first `records` records of the catalog of `seed` to a new file.
pub fn write_file(path: &Path, seed: u64, records: u64) -> Result<()> {
    let on = || BenchError::on(format!("write {}", path.display()));
    let mut file = BufWriter::with_capacity(BATCH_BYTES, File::create(path).map_err(on())?);
    let mut generator = Generator::new(seed);
    let mut line = String::new();
    for number in 0..records {
        line.clear();
        generator.write(number, &mut line);
        file.write_all(line.as_bytes()).map_err(on())?;
    }
    file.flush().map_err(on())
}
