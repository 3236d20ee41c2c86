import fastify from 'fastify';

/** The ceiling: reads the same requests, answers as many bytes, and does nothing. */
const app = fastify();
const answer = { id: 'x'.repeat(36), items: [], filler: 'x'.repeat(500) };
app.post('/v1/orders', (_request, reply) => reply.code(201).send(answer));

app.listen({ port: 0, host: '127.0.0.1' }).then(
  (url) => console.log(JSON.stringify({ url })),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
