import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/** Why a customer's refunds failed is in the provider's words, which may be about the customer. */
export class EraseWordsOfProviders1764134000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await changeFunction(runner, ERASE, BY_OPERATORS, `(${BY_OPERATORS} OR ${OF_FAILURES})`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeFunction(runner, ERASE, `(${BY_OPERATORS} OR ${OF_FAILURES})`, BY_OPERATORS);
  }
}

const ERASE = 'erase_from_history(text)';
const BY_OPERATORS = `m.kind = 'captured' AND m.source = 'operator'`;
const OF_FAILURES = `m.kind IN ('refund_failed', 'refund_reversed')`;
