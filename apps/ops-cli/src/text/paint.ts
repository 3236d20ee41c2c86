import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** `hasColors` knows NO_COLOR, FORCE_COLOR and dumb terminals; a pipe has no such method. */
function styled(stream: NodeJS.WriteStream, style: Style): (text: string) => string {
  // Left to itself styleText looks at stdout, whichever stream it is for.
  const options = { validateStream: false };
  return (text) => (stream.isTTY && stream.hasColors() ? styleText(style, text, options) : text);
}

/** Colours by meaning, for a terminal that wants them. */
export const paint = {
  /** On stderr. */
  failure: styled(process.stderr, 'red'),
  warn: styled(process.stderr, 'yellow'),
  /** On stdout. */
  heading: styled(process.stdout, 'bold'),
  faint: styled(process.stdout, 'dim'),
  good: styled(process.stdout, 'green'),
  bad: styled(process.stdout, 'red'),
  notable: styled(process.stdout, 'yellow'),
};
