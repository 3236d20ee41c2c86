/** Injection token of all settings, secrets included: for the parts of this server that need one. */
export const API_CONFIG = Symbol('ApiConfig');
