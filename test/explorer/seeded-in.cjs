// Makes seeded bugs that programs find, all in files of one folder; see mutations.cjs.

/**
 * @param {string} folder
 * @param {Pick<import('./mutations.cjs').Mutation, 'ofTargets' | 'withEndpoints'>} programs which look for them
 * @returns {(name: string, what: string, file: string, find: string, replace: string) => import('./mutations.cjs').Mutation}
 *   `file`: within that folder
 */
const seededIn = (folder, programs) => (name, what, file, find, replace) => ({
  ...{ name, what, ...programs },
  edits: [{ file: `${folder}${file}`, find, replace }],
});

module.exports = { seededIn };
