import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ownFolder } from '../../test/support/own-folder';

const isDebian = !spawnSync('apt-cache', ['--version']).error;
const folder = ownFolder();
/** What Debian itself has its translations for; where they are left out, as in images, all is English. */
const LANGUAGES = ['en', 'de'];

/** Runs the real thing in a process with a language, as the scripts are ES modules. */
function librariesOfApt(language: string): string[] {
  const module = JSON.stringify(join(__dirname, 'apt.mjs'));
  const program = `import { Apt } from ${module};
    console.log(JSON.stringify(new Apt(${JSON.stringify(folder)}).librariesOf(['apt'])))`;
  const env = { ...process.env, LC_ALL: 'C.UTF-8', LANGUAGE: language };
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { env });
  return JSON.parse(output.toString()) as string[];
}

(isDebian ? it : it.skip)('finds the libraries of a package, whatever language apt speaks', () => {
  const [english, german] = LANGUAGES.map(librariesOfApt);
  expect(english).toContainEqual(expect.stringMatching(/^libapt-pkg/));
  expect(german).toEqual(english);
});
