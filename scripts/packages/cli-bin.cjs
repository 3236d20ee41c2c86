#!/usr/bin/env node
'use strict';
// The `lastcall` command as its package has it.
const { join } = require('node:path');

// Nest comes as ES modules, which Node 20 loads with a warning that is of no use to operators.
process.removeAllListeners('warning');

void require(join(__dirname, '..', 'lib', 'run-to-its-end.js')).runToItsEnd(__dirname);
