import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import { SkipThrottle } from '@nestjs/throttler';

/** Kept on a route's operation, so that the document knows who answers 429. */
export const UNLIMITED = 'x-unlimited';

/** For a controller that answers however often it is asked: whoever calls it may not be turned away. */
export const Unlimited = (): ClassDecorator =>
  applyDecorators(SkipThrottle(), ApiExtension(UNLIMITED, true));
