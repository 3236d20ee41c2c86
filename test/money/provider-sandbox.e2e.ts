import { startSandbox } from '../../apps/sandbox/src/sandbox';
import { WebhookReceiver } from '../../apps/sandbox/src/testing/webhook-receiver';
import { describeProvider } from '../../libs/orders/src/providers/provider.contract';
import { SandboxProvider } from '../../libs/orders/src/providers/sandbox/sandbox.provider';
import { until } from '../support/until';

const webhookSecret = 'a-webhook-secret-for-tests';
const webhookSecrets = [webhookSecret];
/** A port that nobody listens on, and that fetch does not refuse by itself. */
const NOBODY = 'http://127.0.0.1:2';

describeProvider('the sandbox', async () => {
  const receiver = new WebhookReceiver();
  const webhookUrl = await receiver.start();
  const sandbox = await startSandbox({ port: 0, webhookUrl, webhookSecret, dataFolder: null });
  const call = async (method: string, path: string, body: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(sandbox.url + path, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
  };
  return {
    provider: new SandboxProvider({ url: sandbox.url, webhookSecrets }),
    unreachable: new SandboxProvider({ url: NOBODY, webhookSecrets }),
    buyerPays: (id) => call('POST', `/v1/payments/${id}/pay`, {}),
    failRefunds: (fail) => call('PUT', '/v1/faults', { failRefunds: fail }),
    webhook: async (matches) => {
      const sent = await until('the webhook', () =>
        receiver.received.find(({ body }) => matches(body)),
      );
      const { type, body, headers } = sent;
      return { type, rawBody: Buffer.from(body), headers: headers as Record<string, string> };
    },
    close: async () => {
      await sandbox.close();
      await receiver.stop();
    },
  };
});

it('says what keeps it from the sandbox', async () => {
  const away = new SandboxProvider({ url: NOBODY, webhookSecrets });
  const why = expect.stringContaining('ECONNREFUSED 127.0.0.1:2');
  expect(await away.findRefund('re_1')).toEqual({ state: 'UNKNOWN', why });
});
