/** `@lastcall/orders/http`: the controllers, guards and filters that apps/api serves, for hosts. */
export { Access, assertGranted, Public, type RouteAccess, Scope } from './http/access';
export type { Caller, HttpReply, HttpRequest, ScopeName } from './http/caller';
export { CallerGuard, type HostCaller, type ReadCaller } from './http/caller.guard';
export { answerTo, type ErrorAnswer, RETRY_AFTER_SECONDS } from './http/error-problem';
export { Costly, Unlimited } from './http/limits';
export {
  HTTP_CONTROLLERS,
  type HttpPart,
  OrdersHttpModule,
  type OrdersHttpOptions,
} from './http/orders-http.module';
export { OpsOrdersController } from './http/ops-orders.controller';
export { OpsProductsController } from './http/ops-products.controller';
export { OpsController } from './http/ops.controller';
export {
  type ListOrdersQuery,
  type NoBody,
  OrdersController,
  type PlaceOrderBody,
  type StartPaymentBody,
} from './http/orders.controller';
export {
  IdempotencyKey,
  InputBody,
  InputQuery,
  LastEventId,
  OptionalIdempotencyKey,
  OrderId,
  Subject,
  SubjectId,
} from './http/params';
export { HttpProblemFilter } from './http/problem.filter';
export {
  codeOf,
  HTTP_ERROR_CODES,
  problem,
  type Problem,
  PROBLEM_TYPE,
  type ProblemCode,
  statusOf,
} from './http/problem';
export type { FieldError } from './order/read-input';
export { isSubject, SUBJECT_RULE } from './order/subject';
export { idempotencyKey } from './placing/place-rules';
export { ProductsController } from './http/products.controller';
export {
  cancelOrderBody,
  customerExtensionBody,
  forceCloseBody,
  lastEventId,
  listOrdersQuery,
  operatorExtensionBody,
  placeOrderBody,
  refundBody,
  searchOrdersQuery,
  settleOrderBody,
  settleRefundBody,
  shipmentBody,
  startPaymentBody,
} from './http/requests';
export {
  listDeliveriesQuery,
  redeliverBody,
  rotateBody,
  webhookEndpointBody,
} from './http/endpoint-requests';
export {
  listProductsQuery,
  listPublicProductsQuery,
  productSku,
  putProductBody,
  stockBody,
} from './http/product-requests';
export { noBody, reasonBody } from './http/request-fields';
export { type AnswerWords, ROUTE_FACTS, type RouteAnswer, Topic } from './http/route-facts';
export { WebhookEndpointsController } from './http/webhook-endpoints.controller';
export { WebhooksController } from './http/webhooks.controller';
