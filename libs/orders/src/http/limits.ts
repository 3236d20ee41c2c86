import { Reflector } from '@nestjs/core';

/*
 * What a limit of requests has to know of a route. There is none here: where and how requests are
 * counted is for whoever serves these routes.
 */

/** A route that asks something of others, such as a payment provider: at most so many a minute. */
export const Costly = Reflector.createDecorator<number>();

/** A controller that answers however often it is asked: whoever calls it may not be turned away. */
export const Unlimited = Reflector.createDecorator<true>();
