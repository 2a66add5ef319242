-- MariaDB
CREATE TABLE `customers` (
  `customerid` int NOT NULL AUTO_INCREMENT,
  `name` varchar(50) NOT NULL,
  `order` char(3) NULL,
  `note` longtext COLLATE utf8mb4_uca1400_nopad_as_ci NULL,
  `balance` decimal(12,2) NOT NULL,
  `born` date NULL,
  `seen` datetime(6) NULL,
  `ok` boolean NULL,
  `region` tinyint NULL,
  PRIMARY KEY (`customerid`)
) ENGINE=InnoDB;
CREATE TABLE `lines` (
  `customerid` int NOT NULL,
  `line` bigint NOT NULL,
  `code` smallint NULL,
  UNIQUE KEY `by_line` (`customerid`, `line`)
) ENGINE=InnoDB;
-- rows;
ALTER TABLE `customers` ADD UNIQUE KEY `by_name` (`name`), ADD KEY `by_order` (`order`, `balance`);
ALTER TABLE `customers` ADD FULLTEXT KEY `words` (`note`);
ALTER TABLE `lines` ADD UNIQUE KEY `by_code` (`code`);
ALTER TABLE `lines` ADD CONSTRAINT `of_customer` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE CASCADE;
-- MySQL
CREATE TABLE `customers` (
  `customerid` int NOT NULL AUTO_INCREMENT,
  `name` varchar(50) NOT NULL,
  `order` char(3) NULL,
  `note` longtext COLLATE utf8mb4_0900_as_ci NULL,
  `balance` decimal(12,2) NOT NULL,
  `born` date NULL,
  `seen` datetime(6) NULL,
  `ok` boolean NULL,
  `region` tinyint NULL,
  PRIMARY KEY (`customerid`)
) ENGINE=InnoDB;
CREATE TABLE `lines` (
  `customerid` int NOT NULL,
  `line` bigint NOT NULL,
  `code` smallint NULL,
  UNIQUE KEY `by_line` (`customerid`, `line`)
) ENGINE=InnoDB;
-- rows;
ALTER TABLE `customers` ADD UNIQUE KEY `by_name` (`name`), ADD KEY `by_order` (`order`, `balance`);
ALTER TABLE `customers` ADD FULLTEXT KEY `words` (`note`);
ALTER TABLE `lines` ADD UNIQUE KEY `by_code` (`code`);
ALTER TABLE `lines` ADD CONSTRAINT `of_customer` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE CASCADE;
