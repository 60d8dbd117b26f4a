"""Conversations that branch: threads over LangGraph checkpoints. Knows no HTTP, no sockets, no templates."""
