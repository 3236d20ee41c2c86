import { Access, ROUTE_FACTS, type RouteAnswer, Topic, Unlimited } from '@app/orders/http';
import type { Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtension, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RAW_BODY } from '../http/body-parsers';
import { Answers } from './answers';
import { RESPONSES, type ResponseName } from './responses';
import {
  Takes,
  TakesIdempotencyKey,
  TakesIfNoneMatch,
  TakesQuery,
  TakesWebhook,
  UNLIMITED,
} from './takes';

const reflector = new Reflector();

/**
 * Says of controllers in the words of Nest's OpenAPI document, and of Fastify, what they say of
 * themselves in those of `@lastcall/orders/http`, which knows neither. Once for each, before an
 * application is made: what decorators say adds up.
 */
export function describeRoutes(controllers: readonly Type[]): void {
  for (const controller of controllers) {
    const topic = reflector.get(Topic, controller);
    if (topic) ApiTags(topic)(controller);
    if (reflector.get(Unlimited, controller)) ApiExtension(UNLIMITED, true)(controller);
    const prototype = controller.prototype as object;
    for (const [name, route] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name === 'constructor' || typeof route.value !== 'function') continue;
      for (const say of wordsOf(route.value as () => unknown)) say(prototype, name, route);
    }
  }
}

function wordsOf(route: () => unknown): MethodDecorator[] {
  const access = reflector.get(Access, route) ?? 'public';
  const { answer, body, bodyLimit, query, idempotencyKey, ifNoneMatch, webhook } = ROUTE_FACTS;
  const told = {
    answer: reflector.get(answer, route),
    body: reflector.get(body, route),
    bodyLimit: reflector.get(bodyLimit, route),
    query: reflector.get(query, route),
    idempotencyKey: reflector.get(idempotencyKey, route),
  };
  return [
    ...(access === 'public' ? [] : access.map((scope) => ApiSecurity('bearer', [scope]))),
    ...(told.answer ? [answersOf(told.answer)] : []),
    ...(told.body ? [Takes(told.body)] : []),
    ...(told.bodyLimit ? [RouteConfig({ bodyLimit: told.bodyLimit })] : []),
    ...(told.query ? [TakesQuery(told.query)] : []),
    ...(told.idempotencyKey ? [TakesIdempotencyKey(told.idempotencyKey)] : []),
    ...(reflector.get(ifNoneMatch, route) ? [TakesIfNoneMatch()] : []),
    ...(reflector.get(webhook, route) ? [TakesWebhook(), RouteConfig(RAW_BODY)] : []),
  ];
}

function answersOf({ status, name, ...words }: RouteAnswer): MethodDecorator {
  if (!(name in RESPONSES)) throw new Error(`openapi/responses.ts has no answer "${name}"`);
  return Answers(status, name as ResponseName, words);
}
