import { Injectable } from '@nestjs/common';
import { SigningKey } from './signing-key';

/**
 * What a customer or an operator is called in logs: the same each time, and nobody's name. Logs are
 * copied and kept where no erasure reaches them.
 */
@Injectable()
export class NamesInLogs {
  constructor(private readonly key: SigningKey) {}

  async of(subject: string): Promise<string> {
    const signature = await this.key.sign('name in logs', subject);
    return `sub_${signature.toString('hex').slice(0, 16)}`;
  }
}
