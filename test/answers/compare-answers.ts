/** The part of an OpenAPI document that tells of answers. */
export interface AnswersDocument {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly responses: Readonly<
              Record<
                string,
                {
                  readonly content?: Readonly<
                    Record<string, { readonly examples?: Readonly<Record<string, unknown>> }>
                  >;
                }
              >
            >;
          }
        >
      >
    >
  >;
}

const PROBLEM = 'application/problem+json';
/** Pages to look at, and the document itself. */
const NO_API = /^\w+ \/(docs|docs-json|v1\/ops\/queues|checkout|console|$| |\*)/;

/**
 * What was answered and is not documented, and the other way round. Both are lines as
 * `POST /v1/orders 409 out_of_stock`, or `GET /v1/orders 200`.
 */
export function compareAnswers(
  document: AnswersDocument,
  lines: readonly string[],
): { readonly undocumented: string[]; readonly unproduced: string[] } {
  const documented = documentedAnswers(document);
  const routes = new Set(documented.map((line) => line.split(' ').slice(0, 2).join(' ')));
  const produced = new Set(lines.filter((line) => !NO_API.test(line)));
  const known = new Set(documented);
  return {
    undocumented: [...produced]
      // Routes that only some test has added are not the product's.
      .filter((line) => routes.has(line.split(' ').slice(0, 2).join(' ')) && !known.has(line))
      .sort(),
    unproduced: documented.filter((line) => !produced.has(line)).sort(),
  };
}

export function documentedAnswers({ paths }: AnswersDocument): string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content = {} }]) => {
        const codes = Object.keys(content[PROBLEM]?.examples ?? {});
        const answer = `${method.toUpperCase()} ${path} ${status}`;
        return codes.length > 0 ? codes.map((code) => `${answer} ${code}`) : [answer];
      }),
    ),
  );
}
