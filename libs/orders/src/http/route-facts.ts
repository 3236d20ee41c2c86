import { applyDecorators, HttpCode } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { z } from 'zod';
import type { ProblemCode } from './problem';

/*
 * What a route says of itself, for whoever describes it: apps/api makes its OpenAPI document of it.
 * A host that has no such document is spared the package that writes it.
 */

export interface AnswerWords {
  readonly summary: string;
  /** Beside those that every route has. */
  readonly refusals?: readonly ProblemCode[];
  /** Other statuses that are no refusal, without a body, with what they mean. */
  readonly also?: Readonly<Record<number, string>>;
  /** Headers of the answer, with what they mean. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a route answers when all is well; `name` is what its body is called. */
export interface RouteAnswer extends AnswerWords {
  readonly status: number;
  readonly name: string;
}

/** `storefront`: for customers; `ops`: for operators and merchants. */
export const Topic = Reflector.createDecorator<'storefront' | 'webhooks' | 'ops'>();

/** The facts of a route, each by a decorator of its own. */
export const ROUTE_FACTS = {
  answer: Reflector.createDecorator<RouteAnswer>(),
  body: Reflector.createDecorator<z.ZodType>(),
  /** Bytes of a body, where it may be longer than others. */
  bodyLimit: Reflector.createDecorator<number>(),
  query: Reflector.createDecorator<z.ZodObject>(),
  idempotencyKey: Reflector.createDecorator<{ required: boolean; of: string }>(),
  ifNoneMatch: Reflector.createDecorator<true>(),
  webhook: Reflector.createDecorator<true>(),
};

export const Answers = (status: number, name: string, words: AnswerWords): MethodDecorator =>
  applyDecorators(HttpCode(status), ROUTE_FACTS.answer({ status, name, ...words }));

/** The schema that reads the body. */
export const Takes = ROUTE_FACTS.body;

export const TakesUpTo = ROUTE_FACTS.bodyLimit;

/** The schema that reads the query. */
export const TakesQuery = ROUTE_FACTS.query;

export const TakesIdempotencyKey = ({ required = true, of = 'order' } = {}) =>
  ROUTE_FACTS.idempotencyKey({ required, of });

export const TakesIfNoneMatch = () => ROUTE_FACTS.ifNoneMatch(true);

/** Reads the bytes, whatever the sender calls their type: a signature counts for them. */
export const TakesWebhook = () => ROUTE_FACTS.webhook(true);
