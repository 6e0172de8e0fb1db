module.exports = require('../support/suite-of-its-own')('lambda');
