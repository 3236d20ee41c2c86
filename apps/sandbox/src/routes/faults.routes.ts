import type { FastifyInstance } from 'fastify';
import { faultsPatchSchema, type FaultBox } from '../faults';
import { check } from '../problem';

export function faultsRoutes(app: FastifyInstance, faults: FaultBox): void {
  app.get('/v1/faults', async () => faults.current);

  app.put('/v1/faults', async ({ body }) => {
    faults.merge(check(faultsPatchSchema, body));
    return faults.current;
  });

  app.delete('/v1/faults', async () => {
    faults.reset();
    return faults.current;
  });
}
