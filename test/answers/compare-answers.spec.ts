import { type AnswersDocument, compareAnswers } from './compare-answers';

const problems = (...codes: string[]) => ({
  content: {
    'application/problem+json': { examples: Object.fromEntries(codes.map((code) => [code, {}])) },
  },
});
const document: AnswersDocument = {
  paths: {
    '/v1/orders': {
      post: { responses: { 201: {}, 409: problems('out_of_stock', 'total_changed') } },
    },
  },
};

it('finds answers that are not documented, and documented ones that nobody has seen', () => {
  const { undocumented, unproduced } = compareAnswers(document, [
    'POST /v1/orders 201',
    'POST /v1/orders 409 out_of_stock',
    'POST /v1/orders 418 teapot',
    'POST /a/route/of/a/test 500 internal_error',
  ]);
  expect(undocumented).toEqual(['POST /v1/orders 418 teapot']);
  expect(unproduced).toEqual(['POST /v1/orders 409 total_changed']);
});
