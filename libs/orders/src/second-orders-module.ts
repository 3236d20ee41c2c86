import type { DiscoveryService } from '@nestjs/core';
import { SET_UP } from './set-up';

/** An application has imported the order module twice: what asks for one of its parts would get either's. */
export class SecondOrdersModuleError extends Error {
  readonly code = 'second_orders_module';

  constructor() {
    super(
      'OrdersModule is imported more than once in this application: import it once, for what imports the same ' +
        'module object has the same one. Another shop, of another schema or database, needs an application of its own ' +
        '(another NestFactory.create), which may be in the same process.',
    );
    this.name = 'SecondOrdersModuleError';
  }
}

/** @throws {SecondOrdersModuleError} */
export function assertOnlyOrdersModule(discovery: DiscoveryService): void {
  const setUps = discovery.getProviders().filter(({ token }) => token === SET_UP);
  if (setUps.length > 1) throw new SecondOrdersModuleError();
}
