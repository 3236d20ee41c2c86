/** Reports nothing to nobody. */
export { silentOrdersTelemetry } from '../../libs/orders/src/order/telemetry';
