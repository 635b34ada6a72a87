//! Every bound of the server, with its unit. Sections follow the modules of `lib.rs`.

// ===== config =====

// ===== runtime =====

// ===== limiter =====

// ===== auth =====

// ===== request =====

// ===== files =====

// ===== respond =====

// ===== cache =====

// ===== upstream =====

// ===== service =====

// ===== rows =====

// ===== ops =====

// ===== api =====

// ===== web =====

// ===== admin =====

// ===== command =====
