#!/usr/bin/env node
'use strict';
// The `lastcall` command as its package has it.

// Nest comes as ES modules, which Node 20 loads with a warning that is of no use to operators.
process.removeAllListeners('warning');

const { execute, settings } = require('@oclif/core');
settings.enableAutoTranspile = false;

// Connections that are slow to close must not keep a finished command from ending.
void execute({ dir: __dirname }).then(() => process.exit());
