// Required before a program: says on stderr, at its end, which packages it has loaded.
'use strict';
process.on('exit', () => {
  const names = Object.keys(require.cache).flatMap((file) => {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
    return name === undefined ? [] : [name];
  });
  process.stderr.write(`loaded: ${[...new Set(names)].join(' ')}\n`);
});
