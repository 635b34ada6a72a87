//! Everything that changes state.

mod apply_state;
mod data_dir;
mod download_table;
mod state_rows;
