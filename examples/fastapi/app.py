"""A web service that publishes orders with aiokafka. Set ``KAFKA`` to the bootstrap servers."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer
from fastapi import FastAPI
from pydantic import BaseModel


class Order(BaseModel):
    customer: str
    amount: int


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    servers = os.environ.get("KAFKA", "localhost:9092")
    async with AIOKafkaProducer(bootstrap_servers=servers, acks="all", retry_backoff_ms=10) as producer:
        app.state.producer = producer
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=201)
async def publish(order: Order) -> dict[str, int]:
    sent = await app.state.producer.send_and_wait("orders", order.model_dump_json().encode(), order.customer.encode())
    return {"partition": sent.partition, "offset": sent.offset}
