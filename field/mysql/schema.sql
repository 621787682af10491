-- The tables of the locks. Every lock is found by its primary key: InnoDB then
-- locks one row, where a search without an index would lock all of them.
CREATE TABLE IF NOT EXISTS lockladder_record (
  name VARCHAR(191) NOT NULL PRIMARY KEY,
  taken_at DATETIME(6) NOT NULL
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS lockladder_lease (
  name VARCHAR(191) NOT NULL PRIMARY KEY,
  owner VARCHAR(64) NOT NULL,
  held INT NOT NULL,
  expires_at DATETIME(6) NOT NULL,
  KEY by_expiry (expires_at)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS lockladder_row (
  name VARCHAR(191) NOT NULL PRIMARY KEY
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS lockladder_stock (
  name VARCHAR(191) NOT NULL PRIMARY KEY,
  amount INT NOT NULL,
  version BIGINT NOT NULL,
  updated_at DATETIME(0) NOT NULL
) ENGINE=InnoDB;
