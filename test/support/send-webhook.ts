import { randomUUID } from 'node:crypto';
import { signedHeaders, signingKey } from '../../apps/sandbox/src/webhook-signature';

/** Sends a webhook with this body (JSON) as the sandbox would, signed with `secret`; resolves with the status. */
export async function sendWebhook(
  apiUrl: string,
  secret: string,
  body: string,
  id: string = randomUUID(),
): Promise<number> {
  const answer = await fetch(`${apiUrl}/v1/webhooks/sandbox`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      ...signedHeaders(signingKey(secret), id, body, Date.now()),
    },
  });
  // Read to its end, so that the connection is free for the next one.
  await answer.arrayBuffer();
  return answer.status;
}
