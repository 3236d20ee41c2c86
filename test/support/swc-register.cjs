// Lets a plain Node process of a test load the TypeScript sources: node -r ./test/support/swc-register.cjs
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

require.extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    sourceMaps: 'inline',
  });
  module._compile(code, filename);
};
